import { Ajv, type ValidateFunction } from 'ajv'

/**
 * What the Open Responses specification requires of responses, items and events, as far as its suite of conformance checks
 * it: which members there have to be, and of which type. The OpenAPI document of the protocol's first server requires less.
 */
type Shape = Readonly<Record<string, unknown>>

const TEXT = { type: 'string' }
const WHOLE = { type: 'integer' }
const NUMBER = { type: 'number' }
const YES_OR_NO = { type: 'boolean' }
const ANY = {}
const orNull = (shape: Shape): Shape => ({ anyOf: [shape, { type: 'null' }] })
const word = (...words: readonly string[]): Shape => ({ enum: words })
const list = (items: Shape): Shape => ({ type: 'array', items })
const oneOf = (...anyOf: readonly Shape[]): Shape => ({ anyOf })

/** An object of these members; a `?` at the end of a name says that it may be left out. */
function object(members: Shape): Shape {
  const names = Object.keys(members)
  return {
    type: 'object',
    required: names.filter(name => !name.endsWith('?')),
    properties: Object.fromEntries(names.map(name => [name.replace(/\?$/, ''), members[name]])),
  }
}

const typed = (type: string, members: Shape): Shape => object({ type: word(type), ...members })

const TOKEN = { token: TEXT, logprob: NUMBER, bytes: list(WHOLE) }
const LOGPROBS = list(object({ ...TOKEN, top_logprobs: list(object(TOKEN)) }))
const CITATION = typed('url_citation', { url: TEXT, title: TEXT, start_index: WHOLE, end_index: WHOLE })
const STATUS = word('in_progress', 'completed', 'incomplete')
const OUTPUT_TEXT = typed('output_text', { text: TEXT, annotations: list(CITATION), 'logprobs?': LOGPROBS })
const INPUT_TEXT = typed('input_text', { text: TEXT })
const SUMMARY_TEXT = typed('summary_text', { text: TEXT })
const CONTENT = oneOf(
  OUTPUT_TEXT,
  INPUT_TEXT,
  SUMMARY_TEXT,
  typed('reasoning_text', { text: TEXT }),
  typed('refusal', { refusal: TEXT }),
  typed('input_image', { image_url: orNull(TEXT), detail: word('low', 'high', 'auto') }),
)
const CALL = { id: TEXT, call_id: TEXT, status: STATUS }
const ITEM = oneOf(
  typed('message', {
    ...{ id: TEXT, status: STATUS, role: word('user', 'assistant', 'system', 'developer') },
    ...{ content: list(CONTENT), 'phase?': orNull(word('commentary', 'final_answer')) },
  }),
  typed('function_call', { ...CALL, name: TEXT, arguments: TEXT }),
  typed('function_call_output', { ...CALL, output: oneOf(TEXT, list(CONTENT)) }),
  typed('reasoning', {
    ...{ id: TEXT, summary: list(SUMMARY_TEXT), 'content?': list(CONTENT) },
    'encrypted_content?': orNull(TEXT),
  }),
  typed('compaction', { id: TEXT, encrypted_content: TEXT }),
)
const FUNCTION = typed('function', {
  ...{ name: TEXT, description: orNull(TEXT) },
  ...{ parameters: orNull({ type: 'object' }), strict: orNull(YES_OR_NO) },
})
const USAGE = object({
  ...{ input_tokens: WHOLE, output_tokens: WHOLE, total_tokens: WHOLE },
  input_tokens_details: object({ cached_tokens: WHOLE }),
  output_tokens_details: object({ reasoning_tokens: WHOLE }),
})
const FORMAT = oneOf(
  typed('text', {}),
  typed('json_object', {}),
  typed('json_schema', { name: TEXT, description: orNull(TEXT), schema: ANY, strict: YES_OR_NO }),
)
const CHOICE = oneOf(
  word('none', 'auto', 'required'),
  typed('function', { name: TEXT }),
  typed('allowed_tools', { mode: word('none', 'auto', 'required'), tools: list(typed('function', { name: TEXT })) }),
)
const RESPONSE = object({
  ...{ id: TEXT, object: word('response'), created_at: WHOLE, completed_at: orNull(WHOLE), status: TEXT, model: TEXT },
  ...{ incomplete_details: orNull(object({ reason: TEXT })), error: orNull(object({ code: TEXT, message: TEXT })) },
  ...{ previous_response_id: orNull(TEXT), instructions: orNull(TEXT), output: list(ITEM), tools: list(FUNCTION) },
  ...{ tool_choice: CHOICE, truncation: word('auto', 'disabled'), parallel_tool_calls: YES_OR_NO },
  text: object({ format: FORMAT, 'verbosity?': word('low', 'medium', 'high') }),
  ...{ top_p: NUMBER, temperature: NUMBER, presence_penalty: NUMBER, frequency_penalty: NUMBER, top_logprobs: WHOLE },
  reasoning: orNull(object({ effort: orNull(TEXT), summary: orNull(TEXT) })),
  ...{ usage: orNull(USAGE), max_output_tokens: orNull(WHOLE), max_tool_calls: orNull(WHOLE) },
  ...{ store: YES_OR_NO, background: YES_OR_NO, service_tier: TEXT, metadata: ANY },
  ...{ safety_identifier: orNull(TEXT), prompt_cache_key: orNull(TEXT) },
})
const COMPACTION = object({
  ...{ id: TEXT, object: word('response.compaction'), created_at: WHOLE, output: list(ITEM), usage: USAGE },
})

const IN_ITEM = { item_id: TEXT, output_index: WHOLE }
const IN_CONTENT = { ...IN_ITEM, content_index: WHOLE }
const IN_SUMMARY = { ...IN_ITEM, summary_index: WHOLE }
const ITEM_EVENT = { output_index: WHOLE, item: ITEM }
const PART_EVENT = { ...IN_CONTENT, part: CONTENT }
const ERROR = object({ type: TEXT, code: orNull(TEXT), message: TEXT, param: orNull(TEXT) })

/** Members of the events, but for `type` and `sequence_number`, which all have. */
const EVENTS: Readonly<Record<string, Shape>> = {
  'response.created': { response: RESPONSE },
  'response.queued': { response: RESPONSE },
  'response.in_progress': { response: RESPONSE },
  'response.completed': { response: RESPONSE },
  'response.failed': { response: RESPONSE },
  'response.incomplete': { response: RESPONSE },
  'response.output_item.added': ITEM_EVENT,
  'response.output_item.done': ITEM_EVENT,
  'response.content_part.added': PART_EVENT,
  'response.content_part.done': PART_EVENT,
  'response.output_text.delta': { ...IN_CONTENT, delta: TEXT, 'logprobs?': LOGPROBS },
  'response.output_text.done': { ...IN_CONTENT, text: TEXT, 'logprobs?': LOGPROBS },
  'response.output_text.annotation.added': { ...IN_CONTENT, annotation_index: WHOLE, annotation: orNull(CITATION) },
  'response.refusal.delta': { ...IN_CONTENT, delta: TEXT },
  'response.refusal.done': { ...IN_CONTENT, refusal: TEXT },
  'response.function_call_arguments.delta': { ...IN_ITEM, delta: TEXT },
  'response.function_call_arguments.done': { ...IN_ITEM, arguments: TEXT },
  'response.reasoning_summary_part.added': { ...IN_SUMMARY, part: SUMMARY_TEXT },
  'response.reasoning_summary_part.done': { ...IN_SUMMARY, part: SUMMARY_TEXT },
  'response.reasoning_summary_text.delta': { ...IN_SUMMARY, delta: TEXT },
  'response.reasoning_summary_text.done': { ...IN_SUMMARY, text: TEXT },
  error: { error: ERROR },
}

const ajv = new Ajv({ strict: false, allErrors: true })
const checks = new Map<string, ValidateFunction>()

function faultsOf(name: string, shape: () => Shape, value: unknown): readonly string[] {
  let check = checks.get(name)
  if (check === undefined) {
    check = ajv.compile(shape())
    checks.set(name, check)
  }
  if (check(value)) return []
  return (check.errors ?? []).map(({ instancePath, message }) => `${name}${instancePath}: ${message}`)
}

export function responseFaults(response: unknown): readonly string[] {
  return faultsOf('response', () => RESPONSE, response)
}

export function compactionFaults(compaction: unknown): readonly string[] {
  return faultsOf('compaction', () => COMPACTION, compaction)
}

/** `socket`: an error of a WebSocket has the status in place of a number in the sequence. */
export function eventFaults(event: { readonly type?: unknown }, socket = false): readonly string[] {
  const type = String(event.type)
  const members = EVENTS[type]
  if (members === undefined) return [`no event has the type ${type}`]
  if (socket && type === 'error') {
    const error = object({ code: orNull(TEXT), message: TEXT, 'param?': orNull(TEXT) })
    return faultsOf('error of a socket', () => object({ type: word('error'), status: WHOLE, error }), event)
  }
  return faultsOf(type, () => typed(type, { sequence_number: WHOLE, ...members }), event)
}
