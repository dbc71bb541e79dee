import { OPEN_BRACE, QUOTE } from '../../core/ascii.js'
import { GatewayError } from '../../core/errors.js'
import type { DocumentPath } from '../../core/path-text.js'
import { pathText } from '../../core/path-text.js'
import type { BatchRule } from '../../core/resources.js'
import { shownName } from '../../core/shown-name.js'
import { yieldToEventLoop } from '../../kernel/translate/steps.js'
import { type ControlNames, controlNames } from '../../wire/control-names.js'
import { type Item, JsonCursor } from '../../wire/json-cursor.js'
import { listElements, type Span } from '../../wire/json-list.js'

/** Most requests in a batch. */
const MAX_REQUESTS = 100_000
/** Longest model name, in characters. */
const MAX_MODEL_CHARS = 256
/** Bytes that are read in one turn of the event loop. */
const STEP_BYTES = 512 * 1024

/** A request inside a batch; offsets are the batch's. */
export interface BatchRequest extends Span {
  readonly at: DocumentPath
  /** The client's id of the request; empty if it is not a string. */
  readonly id: string
  readonly model: string
  /** Span of the model's name, quotes included. */
  readonly name: Span
}

/**
 * Reads the requests of a batch, in steps. `control`: members of requests that decide what happens, which may occur only
 * once. Throws `invalid_parameter` and `duplicate_parameter`.
 */
export async function requestsIn(
  bytes: Buffer,
  rule: BatchRule,
  model: string,
  control: readonly string[],
): Promise<readonly BatchRequest[]> {
  const names = { element: controlNames([rule.request, rule.id]), request: controlNames(control) }
  const cursor = new JsonCursor(bytes)
  const requests: BatchRequest[] = []
  let read = 0
  for (const element of listElements(bytes, rule.list)) {
    if (requests.length === MAX_REQUESTS) throw tooMany(rule)
    requests.push(requestOf(cursor, element, rule, model, names, requests.length))
    if (element.end - read < STEP_BYTES) continue
    read = element.end
    await yieldToEventLoop(Number.POSITIVE_INFINITY)
  }
  if (requests.length === 0) throw missing([rule.list])
  return requests
}

function requestOf(
  cursor: JsonCursor,
  element: Span,
  rule: BatchRule,
  model: string,
  names: { readonly element: ControlNames; readonly request: ControlNames },
  index: number,
): BatchRequest {
  const place = [rule.list, index]
  const outer = membersOf(cursor, element, place, names.element)
  const request = outer.get(rule.request)
  const at = [...place, rule.request]
  if (request === undefined) throw missing(at)
  const name = membersOf(cursor, request, at, names.request).get(model)
  if (name === undefined) throw missing([...at, model])
  const text = textOf(cursor, name)
  if (text === undefined || text === '' || text.length > MAX_MODEL_CHARS) {
    const param = pathText([...at, model])
    const message = `'${param}' must be a string of 1 to ${MAX_MODEL_CHARS} characters.`
    throw new GatewayError('invalid_parameter', message, { param, rule: text === undefined ? 'type' : 'length' })
  }
  const id = outer.get(rule.id)
  return {
    start: request.start,
    end: request.end,
    at,
    id: (id && textOf(cursor, id)) ?? '',
    model: text,
    name: { start: name.start, end: name.end },
  }
}

/** The members of an object with one of the names. */
function membersOf(
  cursor: JsonCursor,
  { start }: Span,
  at: DocumentPath,
  names: ControlNames,
): ReadonlyMap<string, Item> {
  if (cursor.doc[start] !== OPEN_BRACE) {
    const param = pathText(at)
    throw new GatewayError('invalid_parameter', `'${param}' must be an object.`, { param, rule: 'type' })
  }
  const found = new Map<string, Item>()
  for (const item of cursor.container(start).items) {
    const key = names.find(cursor.doc, item.keyStart + 1, item.keyEnd - 1)
    if (key === undefined) continue
    if (!key.exact) throw variant([...at, key.name])
    if (found.has(key.name)) throw duplicate([...at, key.name])
    found.set(key.name, item)
  }
  return found
}

function textOf({ doc }: JsonCursor, { start, end }: Span): string | undefined {
  return doc[start] === QUOTE ? String(JSON.parse(doc.toString('utf8', start, end))) : undefined
}

function variant(at: DocumentPath): GatewayError {
  const param = shownName(pathText(at))
  const message = `Unknown parameter. Did you mean '${param}'? It must be written exactly like that.`
  return new GatewayError('invalid_parameter', message, { param, familyCode: 'unknown_parameter' })
}

function duplicate(at: DocumentPath): GatewayError {
  const param = shownName(pathText(at))
  const message = `The parameter '${param}' must occur only once.`
  return new GatewayError('duplicate_parameter', message, { param, rule: 'duplicate' })
}

function missing(at: DocumentPath): GatewayError {
  const param = pathText(at)
  return new GatewayError('invalid_parameter', `Missing required parameter: '${param}'.`, {
    param,
    rule: 'required',
    familyCode: 'missing_required_parameter',
  })
}

function tooMany({ list }: BatchRule): GatewayError {
  const message = `A batch has at most ${MAX_REQUESTS} requests.`
  return new GatewayError('invalid_parameter', message, { param: list, limit: 'requests' })
}
