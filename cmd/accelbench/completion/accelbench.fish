# Completion of accelbench for fish: accelbench completion fish | source
function __accelbench_complete
    set -l typed (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    set -l out ($typed[1] complete-words $typed "$current" 2>/dev/null)
    if test "$out[1]" = ":files"
        set -l before (string match --regex -- '^--[^=]*=' "$current")
        for file in (__fish_complete_path (string replace --regex -- '^--[^=]*=' '' "$current"))
            echo "$before$file"
        end
    else
        string join \n -- $out
    end
end
complete --command accelbench --no-files --arguments '(__accelbench_complete)'
