import { isLeftOut } from './default-model.js'
import { GatewayError } from './errors.js'
import { isObject } from './json.js'
import type { Limits } from './limits.js'
import type { ModelPointer, StreamPointer } from './route-settings.js'
import { keepsState, namesState } from './stateful.js'
import type { VectorForm, VectorRule } from './vectors.js'
import type { Violation } from './violation.js'

/*
 * What a request has to hold. Serving a request and explaining one ask the same functions, so that both refuse alike: each
 * throws the very error that the client gets.
 */

/** The value of a top-level member of the body. */
export type InBody = (name: string) => unknown

/** The first thing that is wrong with the form of a JSON body; `name` is the control parameter at fault. */
interface JsonFault {
  readonly rule: 'syntax' | 'duplicate' | 'variant' | 'depth' | 'members' | 'values' | 'not-object'
  /** Offset in bytes. */
  readonly at: number
  readonly name?: string
}

/** Longest model name, in characters; what the plan knows is shorter anyway. */
export const MAX_MODEL_CHARS = 256

export function malformedBody(fault: JsonFault, limits: Pick<Limits, 'depth' | 'members' | 'values'>): GatewayError {
  const { rule, name, at } = fault
  switch (rule) {
    case 'duplicate':
      return new GatewayError('duplicate_parameter', `The parameter '${name}' must occur only once.`, {
        param: name,
        rule,
      })
    case 'variant': {
      const message = `Unknown parameter. Did you mean '${name}'? It must be written exactly like that.`
      return new GatewayError('invalid_parameter', message, { param: name, familyCode: 'unknown_parameter' })
    }
    case 'depth':
      return new GatewayError('bad_request', `The JSON body is nested deeper than ${limits.depth} levels.`, {
        limit: 'depth',
        rule,
      })
    case 'members':
      return new GatewayError('bad_request', `An object of the JSON body has more than ${limits.members} members.`, {
        limit: 'members',
        rule,
      })
    case 'values':
      return new GatewayError('bad_request', `The JSON body has more than ${limits.values} values.`, {
        limit: 'values',
        rule,
      })
    case 'not-object':
      return new GatewayError('bad_request', 'The body must be a JSON object.', { rule })
    case 'syntax':
      return new GatewayError('bad_request', `The body is not valid JSON (at byte ${at}).`, { rule })
  }
}

export function tooLarge(limit: number): GatewayError {
  return new GatewayError('too_large', `The request body is larger than ${limit} bytes.`, { limit: 'body' })
}

/** As the compatible family's clients know them. */
const FAMILY_CODES = {
  required: 'missing_required_parameter',
  type: 'invalid_type',
  enum: 'invalid_value',
  range: 'invalid_value',
  length: 'invalid_value',
  unknown: 'unknown_parameter',
  other: 'invalid_value',
} as const

/** A body that does not fit the schema of its route. */
export function violated({ message, param, rule }: Violation): GatewayError {
  const familyCode = FAMILY_CODES[rule]
  return new GatewayError('invalid_parameter', message, { param: param === '' ? undefined : param, rule, familyCode })
}

/** The model at the place that the route declares, and whether it is there by name. */
export function modelIn(pointer: ModelPointer, value: unknown): { readonly model: string; readonly named?: boolean } {
  const { values = {}, byDefault, name } = pointer
  if (typeof value === 'string' && value !== '' && value.length <= MAX_MODEL_CHARS) {
    const word = Object.hasOwn(values, value) ? values[value] : undefined
    return { model: word ?? value, named: word === undefined }
  }
  if (isLeftOut(value)) {
    if (byDefault !== undefined) return { model: byDefault }
    throw missingParameter(name, 'required')
  }
  const message = `'${name}' must be a string of at most ${MAX_MODEL_CHARS} characters.`
  throw new GatewayError('invalid_parameter', message, {
    param: name,
    rule: typeof value === 'string' ? 'length' : 'type',
  })
}

/** Whether the request asks for a stream, by the value at the place that the route declares. */
export function streamIn({ from, name, values, byDefault = false }: StreamPointer, value: unknown): boolean {
  if (value === undefined || value === null) return byDefault
  if (typeof value === 'boolean') return value
  const meant = values !== undefined && typeof value === 'string' && Object.hasOwn(values, value)
  if (meant) return values[value] === true
  if (from === 'form' && typeof value === 'string') {
    const said = SAID.get(value.toLowerCase())
    if (said !== undefined) return said
  } else if (values === undefined && (from === 'path' || from === 'query')) return value === 'true' || value === '1'
  const allowed = values === undefined ? 'true or false' : `one of ${Object.keys(values).join(', ')}`
  throw new GatewayError('invalid_parameter', `'${name}' must be ${allowed}.`, {
    param: name,
    rule: 'type',
    familyCode: 'invalid_type',
  })
}

/** What a text field of a form means; servers that read others understand them differently. */
const SAID: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
  ['', false],
])

/** A stateful request needs one of these members. */
const ASKING = ['input', 'previous_response_id', 'conversation', 'prompt'] as const

/** What of a route says whether its requests belong to conversations. */
interface StateRoute {
  readonly protocol: { readonly name: string } | undefined
  readonly lane: string
  readonly answer: string | undefined
}

/** Checks what a request says of its conversation, on routes where it may name one. Throws `invalid_parameter`. */
export function checkState({ protocol, lane, answer }: StateRoute, member: InBody): void {
  if (keepsState(protocol?.name, lane)) checkInput(member)
  if (namesState(protocol?.name, answer)) checkConversation(member)
}

/** Throws `invalid_parameter` where nothing is asked: upstreams say so in many ways, and some answer all the same. */
function checkInput(inBody: InBody): void {
  if (!ASKING.some(name => (inBody(name) ?? null) !== null)) throw missingParameter('input', 'required')
}

/** Throws `invalid_parameter` where a request names what came before it in no form, or in two. */
function checkConversation(inBody: InBody): void {
  const [previous, conversation] = [inBody('previous_response_id') ?? null, inBody('conversation') ?? null]
  if (previous !== null && typeof previous !== 'string') throw noText('previous_response_id')
  if (conversation !== null && typeof conversation !== 'string' && !isObject(conversation)) throw noText('conversation')
  if (conversation === null || previous === null) return
  const names = "'previous_response_id' or 'conversation'"
  const message = `Mutually exclusive parameters: ensure you are only providing one of ${names}.`
  const familyCode = 'mutually_exclusive_parameters'
  throw new GatewayError('invalid_parameter', message, { param: 'previous_response_id', familyCode })
}

/** Throws `invalid_parameter` where the gateway is to run a response that it may not store. */
export function checkBackground(isStored: boolean): void {
  if (isStored) return
  const message = 'A response that runs in the background must be stored.'
  throw new GatewayError('invalid_parameter', message, { param: 'store' })
}

/**
 * How a request wants vectors written; undefined where it does not say so, or names a form that its upstream alone knows:
 * then they pass unchanged.
 */
export function wantedVectors({ format }: VectorRule, inBody: InBody): VectorForm | undefined {
  const said = inBody(format)
  return said === 'float' || said === 'base64' ? said : undefined
}

export function noText(param: string): GatewayError {
  return new GatewayError('invalid_parameter', `'${param}' must be a string.`, { param, familyCode: 'invalid_type' })
}

/** `rule`: the one of a schema that says so, for the log. */
export function missingParameter(param: string, rule?: 'required'): GatewayError {
  return new GatewayError('invalid_parameter', `Missing required parameter: '${param}'.`, {
    param,
    ...(rule !== undefined && { rule }),
    familyCode: 'missing_required_parameter',
  })
}
