#compdef accelbench
# Completion of accelbench for zsh: source <(accelbench completion zsh)
_accelbench() {
    local -a out
    out=("${(@f)$("${words[1]}" complete-words "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ $out[1] == ":files" ]]; then
        compset -P '--*='
        _files
    elif [[ -n $out[1] ]]; then
        compadd -Q -- "${out[@]}"
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _accelbench "$@"
else
    compdef _accelbench accelbench
fi
