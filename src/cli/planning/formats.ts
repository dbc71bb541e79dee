import { BOUNDS, type Change, type Mark } from '../../plan/difference/difference.js'
import { changeLines, headline, summary, titleOf } from '../../plan/difference/headline.js'
import { version } from '../command.js'
import { printable } from '../io.js'

interface About {
  readonly file: string
  /** Further changes, which the format leaves out. */
  readonly left?: number
}

/** Writes changes. No line break at the end; empty: nothing to print. */
export type ChangeFormat = (changes: readonly Change[], about: About) => string

/** Changes of settings that people are shown beside those with marks. */
const MAX_SETTINGS = 200

export const CHANGE_FORMATS = {
  json,
  text: forPeople(text),
  markdown: forPeople(markdown),
  github: forPeople(github),
  sarif: forPeople(sarif),
} as const satisfies Record<string, ChangeFormat>

/**
 * Without which requests other bounds hold for: the entry of their key or group says it once. Of many settings the first ones, and
 * all with marks.
 */
function forPeople(format: ChangeFormat): ChangeFormat {
  return (changes, about) => {
    const own = changes.filter(change => change.about !== 'requests' || change.what[0] !== BOUNDS)
    let settings = 0
    const shown = own.filter(({ about, marks }) => {
      if (about !== 'setting' || marks.length > 0) return true
      settings += 1
      return settings <= MAX_SETTINGS
    })
    return format(shown, { ...about, left: own.length - shown.length })
  }
}

function text(changes: readonly Change[], { left = 0 }: About): string {
  if (changes.length === 0) return 'nothing differs'
  const parts = changes.map(change => changeLines(change).map(printable).join('\n'))
  const more = left === 0 ? [] : [`and ${left} more settings: --format json has all`]
  return [...parts, ...more, '', summary(changes, left)].join('\n')
}

/** `{ changes }`, each as {@link Change} has it. */
function json(changes: readonly Change[]): string {
  return JSON.stringify({ changes }, undefined, 2)
}

/** Most characters of a comment on a pull request: GitHub takes 65,536. */
const MAX_MARKDOWN_CHARS = 60_000

/** For a comment on a pull request: marked changes first. */
function markdown(changes: readonly Change[], { left: leftBefore = 0 }: About): string {
  const head = '### What this changes in the gateway'
  if (changes.length === 0) return `${head}\n\nNothing: requests, keys and settings mean the same as before.`
  const sorted = changes.toSorted((one, other) => other.marks.length - one.marks.length)
  const rows: string[] = []
  let size = 0
  for (const change of sorted) {
    const row = rowOf(change)
    size += row.length
    if (size > MAX_MARKDOWN_CHARS) break
    rows.push(row)
  }
  const left = sorted.length - rows.length + leftBefore
  const rest = left === 0 ? '' : `\n\n${left} more: \`gateway plan --format json\` has all of them.`
  return `${head}\n\n${summary(changes, leftBefore)}\n\n| | What | Before | After |\n|---|---|---|---|\n${rows.join('\n')}${rest}`
}

function rowOf(change: Change): string {
  const marks = change.marks.map(mark => `**${mark.toUpperCase()}**`).join(' ')
  const [, ...details] = changeLines(change)
  const more =
    change.about === 'requests' && details.length > 0 ? `<br>${details.map(one => cell(one.trim())).join('<br>')}` : ''
  return `| ${marks} | ${cell(titleOf(change))}${more} | ${cell(change.before)} | ${cell(change.after)} |`
}

/** Text of a cell: nothing in it is markup. */
function cell(text: string): string {
  return printable(text).replaceAll(/[\\`*_{}[\]<>|#!~@]/g, character =>
    character === '<' ? '&lt;' : `\\${character}`,
  )
}

/** Workflow commands; marked changes are warnings. */
function github(changes: readonly Change[], { file, left = 0 }: About): string {
  const rest = left === 0 ? [] : [`::notice title=gateway plan::${left} more settings: --format json has all`]
  const lines = changes.map(change => {
    const level = change.marks.length > 0 ? 'warning' : 'notice'
    return `::${level} file=${escaped(file).replaceAll(':', '%3A').replaceAll(',', '%2C')},title=gateway plan::${escaped(headline(change))}`
  })
  return [...lines, ...rest].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** SARIF 2.1.0; the rule of a change is its first mark, or `changed`. */
function sarif(changes: readonly Change[], { file, left = 0 }: About): string {
  const ids: readonly (Mark | 'changed')[] = ['weaker', 'loss', 'unreachable', 'changed']
  const driver = { name: 'model-gateway', version: version(), rules: ids.map(id => ({ id })) }
  const locations = [{ physicalLocation: { artifactLocation: { uri: encodeURI(file) } } }]
  const result = (text: string, ruleId: (typeof ids)[number] = 'changed') => {
    const level = ruleId === 'changed' ? 'note' : 'warning'
    return { ruleId, ruleIndex: ids.indexOf(ruleId), level, message: { text }, locations }
  }
  const rest = left === 0 ? [] : [result(`and ${left} more settings: --format json has all`)]
  const results = [...changes.map(change => result(headline(change), change.marks[0])), ...rest]
  const log = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0' }
  return JSON.stringify({ ...log, runs: [{ tool: { driver }, results }] }, undefined, 2)
}
