import { OPEN_BRACKET, QUOTE } from '../core/ascii.js'
import type { Json } from '../core/json.js'
import { parseJson } from '../core/json.js'
import type { Transform } from '../core/transform.js'
import { changeValues, findValue, type Path, parsePath, setValue } from '../wire/json-edit.js'
import { elementsOf } from '../wire/json-elements.js'
import { chain, members, text, texts, type Verb } from './verb.js'

/** `{ path: value }`: adds the value at the end of a list, or a text at the end of a text. */
export const append: Verb = {
  name: 'append',
  compile: args =>
    chain(
      members(args).map(([dotted, value]): Transform => {
        const path = parsePath(dotted)
        return document => appendTo(document, path, value)
      }),
    ),
}

/** `{ messages.0: value }`: puts the value before that element. */
export const insert: Verb = {
  name: 'insert',
  compile: args =>
    chain(
      members(args).map(([dotted, value]): Transform => {
        const path = parsePath(dotted)
        const [place, index] = [path.slice(0, -1), Number(path.at(-1))]
        const json = JSON.stringify(value)
        return document => changeValues(document, place, written => inserted(written, index, json))
      }),
    ),
}

/** `[paths]`: a value that is not a list becomes a list of one. */
export const list: Verb = {
  name: 'list',
  compile: args =>
    chain(
      texts(args).map((dotted): Transform => {
        const path = parsePath(dotted)
        return document =>
          changeValues(document, path, written =>
            written[0] === OPEN_BRACKET ? undefined : `[${written.toString('utf8')}]`,
          )
      }),
    ),
}

/** `{ path: separator }`: the texts and numbers of a list become one text. */
export const join: Verb = {
  name: 'join',
  compile: args =>
    chain(
      members(args).map(([dotted, separator]): Transform => {
        const path = parsePath(dotted)
        const between = text(separator)
        return document => changeValues(document, path, written => joined(written, between))
      }),
    ),
}

function joined(written: Buffer, separator: string): string | undefined {
  if (written[0] !== OPEN_BRACKET) return undefined
  const parts: string[] = []
  for (const { start, end } of elementsOf(written)) {
    const value = written.toString('utf8', start, end)
    const read = parseJson(value)
    if (typeof read !== 'string' && typeof read !== 'number') return undefined
    parts.push(typeof read === 'string' ? read : value)
  }
  return JSON.stringify(parts.join(separator))
}

function appendTo(document: Uint8Array, path: Path, value: Json): Uint8Array {
  if (findValue(document, path) === undefined) return setValue(document, path, JSON.stringify([value]), 'absent')
  return changeValues(document, path, written => {
    if (written[0] === OPEN_BRACKET) return inserted(written, Number.POSITIVE_INFINITY, JSON.stringify(value))
    if (written[0] !== QUOTE || typeof value !== 'string') return undefined
    // Within the quotes: what is there keeps its spelling.
    return written.toString('utf8', 0, written.length - 1) + JSON.stringify(value).slice(1)
  })
}

/** A list with one more element, before the one with that index or at its end; `undefined` where it is not a list. */
function inserted(list: Buffer, index: number, json: string): string | undefined {
  if (list[0] !== OPEN_BRACKET) return undefined
  const elements = elementsOf(list)
  const next = elements[index]
  const last = elements.at(-1)
  const at = next?.start ?? last?.end ?? 1
  const added = next === undefined ? (last === undefined ? json : `,${json}`) : `${json},`
  return list.toString('utf8', 0, at) + added + list.toString('utf8', at)
}
