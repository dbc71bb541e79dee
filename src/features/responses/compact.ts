import { GatewayError } from '../../core/errors.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Route } from '../../core/plan.js'
import { unknownModel } from '../../core/refusals.js'
import { addEarlierInput } from '../../kernel/added-input.js'
import type { HeldBody } from '../../kernel/body.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import type { Failure } from '../../kernel/failure.js'
import type { Serve } from '../../kernel/inner.js'
import { newId } from '../../kernel/own-ids.js'
import { MUST_FINISH } from '../../kernel/relay/json.js'
import { NOT_ALLOWED, whyNot } from '../../kernel/resolve.js'
import { checkMembers, mayBeRuled } from '../members/index.js'
import { mayReference, narrowByReferences } from '../resources/references.js'
import { callInner, type InnerAnswer } from './inner-call.js'
import { withHistory } from './inside.js'
import { type Item, itemsOf, typeOf, withIds } from './items.js'
import { narrowByEarlier, openTurn, relayedTo } from './open-turn.js'
import { TURN, TURN_OPTIONS, type TurnHistory } from './response-turn.js'
import { STATE } from './state.js'
import { outputOf, sizeOf } from './stored.js'
import { askOwner, createRoute, exchangesOf } from './upstream-owned.js'

/** Most bytes of the user's latest messages, as JSON, that are kept beside a summary. */
const MAX_KEPT_BYTES = 64 * 1024
/** Statuses by which an upstream says that it does not compact conversations. */
const NOT_SERVED = new Set<unknown>([404, 405, 501])

/** The instruction that makes the model write a summary. */
const REQUEST =
  'Write a summary of the conversation so far. It will replace the conversation when it is continued: say ' +
  'what the user wants, what has been done and found out, which decisions were made and why, names, numbers, paths and ' +
  'identifiers that are still needed, exactly, and what is left to do. Answer with the summary alone, and call no tools.'

/** Members of the client's request that are copied to the request for a summary. */
const CARRIED = [
  ...['model', 'previous_response_id', 'conversation', 'instructions', 'tools'],
  ...['reasoning', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier', 'user'],
] as const

/**
 * Shortens a conversation. If the upstream can compact, it is called; for others the model writes a summary, which the
 * client gets sealed.
 */
export async function compact(call: Call, route: Route, serve: Serve): Promise<void> {
  const { body } = call
  const maker = createRoute(call.generation.plan)
  const isAllowed = call.caller?.may(call.model) === true
  if (!isAllowed || maker?.resolve(call.model) === undefined) {
    throw unknownModel(call.model, maker ?? route, isAllowed ? whyNot(call) : NOT_ALLOWED)
  }
  if (body.type !== 'bytes') throw new GatewayError('bad_request', 'The body must be a JSON object.')
  const all = exchangesOf(call, call.model)
  // Where nothing is reached, the request for a summary is refused as any other one.
  const isNamed = all.length > 0 && mayReference(body, route.references)
  const named = isNamed ? await narrowByReferences(call, route, body, all) : all
  const options = call.get(TURN_OPTIONS)
  const turn = options && (await openTurn(call, { ...options, store: false }, body, named))
  call.set(TURN, turn)
  if (turn !== undefined) addEarlierInput(call, () => turn.earlierInput)
  call.set(MUST_FINISH, turn?.options.background === false)
  const able = relayedTo(turn === undefined ? named : await narrowByEarlier(call, route, turn, named))
  const exchanges = mayBeRuled(call, route, body) ? await checkMembers(call, route, body, able) : able
  const before = turn?.history.by
  const [exchange] = exchanges.length > 0 || before === 'upstream' ? (turn?.narrow(exchanges) ?? exchanges) : []
  const summarize = (): void => {
    summary(call, maker, body, serve).catch((cause: unknown) => call.fail(cause))
  }
  if (exchange === undefined) return summarize()
  // With the protocol of the route that creates responses, whose usage the answer has.
  const asked = { ...route, protocol: maker.protocol }
  askOwner(call, asked, exchange, '/compact', body, ({ condition }: Failure) => {
    const isOurs = NOT_SERVED.has(condition)
    if (isOurs) summarize()
    return isOurs
  })
}

async function summary(call: Call, maker: Route, body: HeldBody, serve: Serve): Promise<void> {
  const document = await documentOfBody(call, body, { exact: true })
  const path = maker.id.slice(maker.id.indexOf(' ') + 1)
  const own = itemsOf(document.input)
  const ask = Buffer.from(jsonText(requestFor(document, own)))
  call.memory.release()
  const mostBytes = maker.limits.response
  const history = call.get(TURN)?.history
  const inside = { isCounted: true, slots: withHistory(unnamed(history)) } as const
  const answer = await callInner(call, serve, {
    ...{ method: 'POST', target: path, body: ask, maxBytes: mostBytes, inside },
  })
  if (answer.status !== 200) return passOn(call, answer)
  const response = parseExact(answer.body.toString('utf8'))
  const text = isObject(response) ? textOf(response) : ''
  if (text === '') {
    throw new GatewayError('bad_upstream_response', 'The model did not write a summary of the conversation.', {
      phase: 'content',
    })
  }
  const id = newId('resp_')
  const sealed = await call.kernel.need(STATE).compactions.seal(call.key, text)
  const compaction = { type: 'compaction', id: newId('cmp_'), encrypted_content: sealed }
  const earlier = history?.by === 'gateway' ? history.conversation.items : []
  call.answer(200, {
    id,
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...withIds(keptMessages([...earlier, ...own]), id), compaction],
    usage: isObject(response) ? (response.usage ?? null) : null,
  })
}

/** A summary is no turn of the conversation. */
function unnamed(history: TurnHistory | undefined): TurnHistory | undefined {
  if (history?.by !== 'gateway') return history
  const { named: _, ...rest } = history
  return rest
}

/** The request that makes the model write the summary; it is not stored. */
function requestFor(document: JsonObject, own: readonly Item[]): JsonObject {
  const said: [string, Json][] = CARRIED.flatMap(name => {
    const value = document[name]
    return value === undefined || value === null ? [] : [[name, value]]
  })
  const { tools } = document
  return {
    ...Object.fromEntries(said),
    ...(Array.isArray(tools) && tools.length > 0 && { tool_choice: 'none' }),
    input: [...own, { type: 'message', role: 'user', content: [{ type: 'input_text', text: REQUEST }] }],
    store: false,
    stream: false,
  }
}

/** The user's latest messages, up to the bound. */
function keptMessages(items: readonly Item[]): readonly Item[] {
  const kept: Item[] = []
  let bytes = 0
  for (const item of [...items].reverse()) {
    if (typeOf(item) !== 'message' || item.role !== 'user') continue
    bytes += sizeOf(item)
    if (bytes > MAX_KEPT_BYTES) break
    kept.unshift(item)
  }
  return kept
}

function textOf(response: JsonObject): string {
  const parts = outputOf({ response }).flatMap(({ content }) => (Array.isArray(content) ? content : []))
  return parts.flatMap(part => (isObject(part) && typeof part.text === 'string' ? [part.text] : [])).join('')
}

/** Headers of the inner answer that are not copied, since they describe its own bytes. */
const LEFT = /^(content-type|content-length|x-request-id|connection|transfer-encoding)$/i

/** The model refused the request for a summary: the client gets that refusal. */
function passOn(call: Call, { status, headers, body }: InnerAnswer): void {
  const passed = headers.flatMap((name, index) =>
    index % 2 === 0 && !LEFT.test(name) ? [name, headers[index + 1] ?? ''] : [],
  )
  call.answerBytes(status, body, passed)
}
