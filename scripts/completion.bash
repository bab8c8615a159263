# Completion of `retrysim` and `retrysim-plot` in bash. What there is to complete, the program
# `retrysim` itself says: `retrysim complete WORD...`; sim/cli/options.hpp describes what it
# prints. Of `retrysim-plot` it is here, because Matplotlib would take a second to load.
#
# SPDX-License-Identifier: MIT

_retrysim() {
  local rest=${COMP_LINE:0:COMP_POINT} words=() quote="" i word
  # The words up to the cursor. Bash has split them at = and : too: a piece that follows without a
  # blank belongs to the word before it. The last word ends at the cursor.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=${rest#"${rest%%[![:space:]]*}"}
    if ((i > 0)) && [[ -n $rest && $rest != [[:space:]]* ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"$word"}
  done
  [[ ${words[-1]} == [\'\"]* ]] && quote=${words[-1]:0:1}
  for i in "${!words[@]}"; do
    word=${words[i]#[\'\"]}
    word=${word%[\'\"]}
    words[i]=${word//\\/}
  done

  local program=${words[0]/#\~/$HOME} current=${words[-1]} candidates=() line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :open) compopt -o nospace ;;
      :folders)
        compopt -o filenames
        mapfile -t -O "${#candidates[@]}" candidates < <(compgen -d -- "${current#--*=}")
        ;;
      :files)
        compopt -o filenames
        mapfile -t -O "${#candidates[@]}" candidates < <(compgen -f -- "${current#--*=}")
        ;;
      ":files "*)
        compopt -o filenames
        mapfile -t -O "${#candidates[@]}" candidates < <(
          compgen -d -- "${current#--*=}"
          compgen -f -X "!*.${line#:files }" -- "${current#--*=}"
        )
        ;;
      *) candidates+=("$line") ;;
    esac
  done < <("$program" complete "${words[@]:1}" 2>/dev/null)

  # Bash replaces only what follows the last = or : of a word without quotes.
  local done_before=""
  if [[ -z $quote && $current == *[=:]* ]]; then
    done_before=${current%"${current##*[=:]}"}
  fi
  # The last @ begins a word of its own, and belongs to it.
  if [[ -z $quote && $current == *@* && $COMP_WORDBREAKS == *@* ]]; then
    done_before=${current%@*}
  fi
  for line in "${candidates[@]}"; do
    COMPREPLY+=("${line#"$done_before"}")
  done
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}

# scripts/plotting/command.py reads this command line.
_retrysim_plot() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  # Bash has split --format=png at the =.
  if [[ $current == = ]]; then
    current=""
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  local options="--format --help --metrics --no-title --out --picture --size --variant"
  COMPREPLY=()
  case $before in
    --format) mapfile -t COMPREPLY < <(compgen -W "pdf png svg" -- "$current") ;;
    --size) mapfile -t COMPREPLY < <(compgen -W "column slide" -- "$current") ;;
    --metrics | --picture | --variant) ;;
    *)
      if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
      else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
      fi
      ;;
  esac
}

complete -F _retrysim retrysim
complete -F _retrysim_plot retrysim-plot
