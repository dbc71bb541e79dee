import { isObject, type Json } from '../../core/json.js'
import { MASK_MARKS } from '../../core/masks.js'
import { MASKED } from '../../core/recording.js'

/** Most differences that are looked for: more do not make two requests less alike. */
const MAX_DIFFERENCES = 20
/** Most characters of a value that are shown. */
const MAX_SHOWN_CHARS = 60
/** What means any text in a recording. */
const MARKS = new RegExp([...MASK_MARKS, MASKED, '[secret]'].map(mark => mark.replaceAll(/[[\]]/g, '\\$&')).join('|'))

/** What differs, a sentence each: `messages.0.content: recorded "a", asked "b"`. `whole`: what the value is, if it has no path. */
export function differences(
  recorded: Json | undefined,
  asked: Json | undefined,
  path = '',
  whole = 'the body',
): readonly string[] {
  const found: string[] = []
  compare(recorded, asked, path, found)
  return path === '' ? found.map(one => (one.startsWith(':') ? whole + one : one)) : found
}

function compare(recorded: Json | undefined, asked: Json | undefined, path: string, found: string[]): void {
  if (found.length >= MAX_DIFFERENCES || isAlike(recorded, asked)) return
  const names = namesOf(recorded, asked)
  if (names === undefined) {
    found.push(`${path}: recorded ${shown(recorded)}, asked ${shown(asked)}`)
    return
  }
  for (const name of names)
    compare(member(recorded, name), member(asked, name), path === '' ? name : `${path}.${name}`, found)
}

function isAlike(recorded: Json | undefined, asked: Json | undefined): boolean {
  if (recorded === asked || recorded === MASKED) return true
  return typeof recorded === 'string' && typeof asked === 'string' && MARKS.test(recorded) && fits(recorded, asked)
}

/** Whether a text is a recorded one, where each mark stands for any text. */
function fits(recorded: string, asked: string): boolean {
  const pieces = recorded.split(MARKS)
  const last = pieces.pop() ?? ''
  const [first = ''] = pieces
  if (!asked.startsWith(first)) return false
  let at = first.length
  for (const piece of pieces.slice(1)) {
    const next = asked.indexOf(piece, at)
    if (next < 0) return false
    at = next + piece.length
  }
  return asked.length - last.length >= at && asked.endsWith(last)
}

/** The names of both where both are lists, or both objects. */
function namesOf(one: Json | undefined, other: Json | undefined): readonly string[] | undefined {
  const isBoth = (is: (value: unknown) => boolean): boolean => is(one) && is(other)
  if (!isBoth(Array.isArray) && !isBoth(isObject)) return undefined
  return [...new Set([...Object.keys(one as object), ...Object.keys(other as object)])]
}

function member(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(name)]
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A value by its dotted path. */
export function memberAt(value: Json | undefined, path: string): Json | undefined {
  return path.split('.').reduce(member, value)
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text
}
