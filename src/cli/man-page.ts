import type { CommandNode } from './command-tree.js'

/** `gateway-keys-list.1` */
export function pageName({ path }: Pick<CommandNode, 'path'>): string {
  return `${nameOf(path)}.1`
}

/** A page in the macros of man(7). The same command and version give the same bytes. */
export function manPage(node: CommandNode, version: string): string {
  const { path, description, usage, options, arguments: words, commands } = node
  const name = nameOf(path)
  const described = words.filter(word => word.description !== '')
  const below = commands.map(child => ({ term: nameOf(child.path), text: child.description }))
  return [
    `.TH ${name.toUpperCase()} 1 "" "model-gateway ${version}" "Model gateway"`,
    ...section('NAME', [`${name} \\- ${plain(firstSentence(description))}`]),
    ...section('SYNOPSIS', [`.B ${['gateway', ...path].join(' ')}`, plain(usage)]),
    ...section('DESCRIPTION', [plain(`${capitalised(description)}${description.endsWith('.') ? '' : '.'}`)]),
    ...terms(
      'ARGUMENTS',
      described.map(word => ({ term: word.name, text: withChoices(word) })),
    ),
    ...terms(
      'OPTIONS',
      options.map(option => ({ term: option.flags, text: withChoices(option) })),
    ),
    ...terms('COMMANDS', below),
    ...section('SEE ALSO', [
      path.length === 0 ? pagesOf(commands) : pagesOf([{ path: path.slice(0, -1) }, ...commands]),
    ]),
    '',
  ].join('\n')
}

function nameOf(path: readonly string[]): string {
  return ['gateway', ...path].join('-')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [`.SH ${title}`, ...lines]
}

interface Term {
  readonly term: string
  readonly text: string
}

function terms(title: string, all: readonly Term[]): readonly string[] {
  if (all.length === 0) return []
  return section(
    title,
    all.flatMap(({ term, text }) => ['.TP', `.B ${plain(term)}`, plain(text)]),
  )
}

function withChoices({
  description,
  choices,
}: {
  readonly description: string
  readonly choices: readonly string[]
}): string {
  return choices.length === 0 ? description : `${description} (one of: ${choices.join(', ')})`
}

function pagesOf(nodes: readonly Pick<CommandNode, 'path'>[]): string {
  return nodes.map(({ path }) => `.BR ${plain(nameOf(path))} (1)`).join(',\n')
}

function firstSentence(text: string): string {
  return text.split(/[.;:(]/)[0]?.trim() ?? text
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Text that roff takes as it is written: no requests at the start of a line, no escapes, hyphens that can be copied. */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll(/\s+/g, ' ')
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped
}
