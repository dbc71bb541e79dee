import { numbered } from '../../core/numbered.js'
import type { Change, RequestChange } from './change.js'

/** Names of a list that a line shows. */
const MAX_NAMES = 6

/** One line, marks first: `WEAKER: key alice loses budget per day (5 USD/day)`. */
export function headline(change: Change): string {
  const marks = change.marks.map(mark => `${mark.toUpperCase()}: `).join('')
  return marks + sentence(change)
}

/** What the change is about, without its values. */
export function titleOf(change: Change): string {
  if (change.about !== 'requests') return `${change.about} ${names(change.names)}: ${change.what}`
  const { keys, models, routes } = change
  const what = models.length === 1 && models[0] === '' ? 'requests' : `model ${names(models)}`
  return `${what} for ${keyWords(keys)} on ${names(routes)}`
}

/** The headline with its details below, indented. */
export function changeLines(change: Change): readonly string[] {
  const details = change.about === 'requests' ? [...change.what, ...dropLines(change)] : []
  return [headline(change), ...details.map(line => `  ${line}`)]
}

function sentence(change: Change): string {
  const { before, after } = change
  if (change.about === 'requests') return `${titleOf(change)}: ${before === after ? before : `${before} → ${after}`}`
  const { about, what } = change
  const who = `${about} ${names(change.names)}`
  const many = change.names.length > 1
  if (what === 'entry')
    return `${who} ${after === NONE ? (many ? 'are gone' : 'is gone') : many ? 'are new' : 'is new'}`
  if (after === NONE) return `${who} ${many ? 'lose' : 'loses'} ${what} (${before})`
  if (before === NONE) return `${who} ${many ? 'get' : 'gets'} ${what} ${after}`
  return `${who}: ${what} ${before} → ${after}`
}

const NONE = 'none'

function dropLines({ drops }: RequestChange): readonly string[] {
  return drops === undefined ? [] : [`drops: ${dropsText(drops)}`]
}

/** Members that are lost, those of the top first of all. */
export function dropsText(drops: readonly string[]): string {
  const tops = [...new Set(drops.filter(name => !/[.[]/.test(name)))]
  const shown = tops.length > 0 ? tops : drops
  return `${names(shown, MAX_DROPS)}${tops.length > 0 && tops.length < drops.length ? ' and parts of others' : ''}`
}

/** Members that a line names; `--format json` has all. */
const MAX_DROPS = 16

function keyWords(keys: readonly string[]): string {
  if (keys.length === 1 && keys[0] === '*') return 'callers who may do all'
  return `${keys.length === 1 ? 'key' : 'keys'} ${names(keys)}`
}

function names(list: readonly string[], most = MAX_NAMES): string {
  if (list.length <= most) return list.join(', ')
  return `${list.slice(0, most).join(', ')} and ${list.length - most} more`
}

/** `3 changes, 1 weaker, 1 unreachable`; `left` are counted, too. */
export function summary(changes: readonly Change[], left = 0): string {
  const marks = ['weaker', 'loss', 'unreachable'] as const
  const counts = marks.map(mark => [changes.filter(one => one.marks.includes(mark)).length, mark] as const)
  const marked = counts.filter(([count]) => count > 0).map(([count, mark]) => `, ${count} ${mark}`)
  const count = changes.length + left
  return `${numbered(count, 'change')}${marked.join('')}`
}
