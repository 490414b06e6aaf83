# Completion of accelbench for bash: source <(accelbench completion bash)
_accelbench() {
    local words=() word out current="${COMP_WORDS[COMP_CWORD]}"
    # bash makes "=" a word of its own.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
        [[ $word == "=" ]] || words+=("$word")
    done
    [[ $current == "=" ]] && current=""
    out="$("${COMP_WORDS[0]}" complete-words "${words[@]}" "$current" 2>/dev/null)"
    COMPREPLY=()
    if [[ $out == ":files" ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ -n $out ]]; then
        mapfile -t COMPREPLY <<<"$out"
    fi
}
complete -F _accelbench accelbench
