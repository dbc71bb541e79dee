import type { VerbConfig } from '../core/config.js'
import { derivedRule } from '../core/rule-watch.js'
import type { Beside, BodyFormat, RequestShape, SentValue, TakenValue } from '../core/shape.js'
import { parsePath } from '../wire/json-path.js'
import { members, text } from './verb.js'

/** Whether a verb moves values between the body and the other places of a request. */
export function isShaping(verb: VerbConfig): boolean {
  return verb.send !== undefined || verb.take !== undefined
}

/** What such verbs and the endpoint's `sends` make of a request; `undefined` where there are none. */
export function shapeOf(list: readonly VerbConfig[], body: BodyFormat | undefined): RequestShape | undefined {
  const taken = list.flatMap(verb =>
    verb.take === undefined ? [] : members(verb.take).map(one => derivedRule(takenValue(one), verb)),
  )
  const sent = list.flatMap(verb =>
    verb.send === undefined ? [] : members(verb.send).map(one => derivedRule(sentValue(one), verb)),
  )
  if (taken.length === 0 && sent.length === 0 && body === undefined) return undefined
  return { taken, sent, ...(body === undefined ? {} : { body }) }
}

/** Names of the values that verbs put into the path. */
export function namesInPath(list: readonly VerbConfig[]): ReadonlySet<string> {
  return new Set(shapeOf(list, undefined)?.sent.flatMap(({ to, name }) => (to === 'path' ? [name] : [])))
}

function sentValue([path, place]: readonly [string, unknown]): SentValue {
  const { beside, name } = placeOf(String(place))
  return { path: parsePath(path), to: beside, name }
}

function takenValue([place, path]: readonly [string, unknown]): TakenValue {
  const { beside, name } = placeOf(place)
  return { from: beside, name, path: parsePath(text(path as string)) }
}

/** `query.voice`; names of headers in lower case. */
function placeOf(written: string): { readonly beside: Beside; readonly name: string } {
  const dot = written.indexOf('.')
  const [beside, name] = [written.slice(0, dot), written.slice(dot + 1)]
  return beside === 'header'
    ? { beside, name: name.toLowerCase() }
    : { beside: beside === 'path' ? 'path' : 'query', name }
}
