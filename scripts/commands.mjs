/** Every command of the program with its arguments and options, as its help and its man page have them. */
export async function commands(built) {
  const { build } = await built('cli/main.js')
  const { commandTree, withCommandsBelow } = await built('cli/command-tree.js')
  const { stdin, stdout, stderr } = process
  const program = commandTree(build({ stdin, stdout, stderr, env: {} }, () => {}))
  // `gateway help` describes the others, and is described by none.
  const all = withCommandsBelow(program).filter(({ path }) => path.length > 0 && path.at(-1) !== 'help')
  return all.map(section).join('\n\n')
}

function section({ path, description, usage, options, arguments: words, commands: below }) {
  const name = ['gateway', ...path].join(' ')
  const rows = [
    ...words.filter(word => word.description !== '').map(word => row(word.name, word)),
    ...options.filter(({ names }) => !names.includes('--help')).map(option => row(option.flags, option)),
    ...below.filter(child => child.path.at(-1) !== 'help').map(child => row(child.path.at(-1), child)),
  ]
  return [
    `## ${name}`,
    '',
    `\`${name} ${usage}\``,
    '',
    `${description.charAt(0).toUpperCase()}${plain(description.slice(1))}${description.endsWith('.') ? '' : '.'}`,
    ...(rows.length === 0 ? [] : ['', '| | |', '|---|---|', ...rows]),
  ].join('\n')
}

function row(term, { description, choices = [] }) {
  const words = choices.length === 0 ? '' : ` (one of: ${choices.join(', ')})`
  return `| \`${term.replaceAll('|', '\\|')}\` | ${plain(description)}${plain(words)} |`
}

/** Text in which Markdown sees no marks. */
function plain(text) {
  return text.replaceAll(/[\\*_<>|[\]`]/g, '\\$&')
}
