import { type CommandNode, type OptionNode, withCommandsBelow } from './command-tree.js'

/** Scripts for shells, made from the commands: they complete words without starting the program. */
export const COMPLETION_SCRIPTS = { bash, zsh, fish } as const

export type Shell = keyof typeof COMPLETION_SCRIPTS

function bash(root: CommandNode): string {
  return `# Completion of gateway for bash.
#   gateway completion bash > ~/.local/share/bash-completion/completions/gateway
_gateway() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} at= word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at/$word" in
      ${paths(root)}) at="$at/$word" ;;
    esac
  done
  case "$at $before" in
${each(valued(root), ([where, words]) => `    ${where}) COMPREPLY=($(compgen -W "${words}" -- "$current")); return ;;`)}
  esac
  local words=
  case "$at" in
${each(withCommandsBelow(root), node => `    ${place(node)}) words="${inPosition(node)}"; [[ $current == -* ]] && words="${optionsOf(node)}" ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
# Where no word of the program fits, files do.
complete -o default -F _gateway gateway
`
}

function zsh(root: CommandNode): string {
  return `#compdef gateway
# Completion of gateway for zsh.
#   gateway completion zsh > ~/.zsh/completions/_gateway    with that folder in fpath
_gateway() {
  local current=\${words[CURRENT]} before=\${words[CURRENT-1]} at= word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in
      ${paths(root)}) at="$at/$word" ;;
    esac
  done
  case "$at $before" in
${each(valued(root), ([where, words]) => `    ${where}) compadd -- ${words}; return ;;`)}
  esac
  if [[ $current == -* ]]; then
    case "$at" in
${each(withCommandsBelow(root), node => `      ${place(node)}) found=(${node.options.flatMap(described).join(' ')}) ;;`)}
    esac
    _describe option found
    return
  fi
  case "$at" in
${each(withCommandsBelow(root), node => `    ${place(node)}) found=(${positions(node).map(zshPair).join(' ')}) ;;`)}
  esac
  (( \${#found} )) && _describe command found
  _files
}
if [ "$funcstack[1]" = _gateway ]; then _gateway "$@"; else compdef _gateway gateway; fi
`
}

function fish(root: CommandNode): string {
  const lines = withCommandsBelow(root).flatMap(node => {
    const here = `complete -c gateway -n '__gateway_at ${place(node)}'`
    const words = positions(node).map(([word, description]) => `${here} -a '${word}' -d ${fishText(description)}`)
    return [...words, ...node.options.map(option => `${here}${fishOption(option)}`)]
  })
  return `# Completion of gateway for fish.
#   gateway completion fish > ~/.config/fish/completions/gateway.fish
function __gateway_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at/$word"
            case ${paths(root).replaceAll('|', ' ')}
                set at "$at/$word"
        end
    end
    test "/$at" = "/$argv[1]"
end
${lines.join('\n')}
`
}

/** `/keys|/keys/new|…` */
function paths(root: CommandNode): string {
  return withCommandsBelow(root).slice(1).map(place).join('|')
}

function place({ path }: CommandNode): string {
  return path.length === 0 ? "''" : `/${path.join('/')}`
}

/** The words that an option takes as its value, by command and option. */
function valued(root: CommandNode): readonly (readonly [string, string])[] {
  return withCommandsBelow(root).flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .flatMap(({ names, choices }) =>
        names.map(name => [`"${path.map(word => `/${word}`).join('')} ${name}"`, choices.join(' ')] as const),
      ),
  )
}

/** What may follow a command, with what it means. */
function positions({ commands, arguments: taken }: CommandNode): readonly (readonly [string, string])[] {
  return [
    ...commands.map(({ path, description }) => [path.at(-1) ?? '', description] as const),
    ...taken.flatMap(({ choices, description }) => choices.map(choice => [choice, description] as const)),
  ]
}

function inPosition(node: CommandNode): string {
  return positions(node)
    .map(([word]) => word)
    .join(' ')
}

function optionsOf({ options }: CommandNode): string {
  return options.flatMap(({ names }) => names).join(' ')
}

function described({ names, description }: OptionNode): readonly string[] {
  return names.map(name => zshPair([name, description]))
}

function zshPair([word, description]: readonly [string, string]): string {
  return `'${word}:${description.replaceAll("'", "'\\''").replaceAll(':', '\\:')}'`
}

function fishOption({ names, description, takesValue, choices }: OptionNode): string {
  const spelled = names.map(name => (name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`)).join('')
  const value = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r' : ''
  return `${spelled}${value} -d ${fishText(description)}`
}

function fishText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function each<Item>(items: readonly Item[], line: (item: Item) => string): string {
  return items.map(line).join('\n')
}
