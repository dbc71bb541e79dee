import { GatewayError } from '../../core/errors.js'
import { isObject } from '../../core/json.js'
import type { Route } from '../../core/plan.js'
import { namesState, STATEFUL } from '../../core/stateful.js'
import type { Body } from '../admit.js'
import { documentOfBody } from '../body-document.js'
import type { Call } from '../call.js'
import { InnerRequest, type Inside } from '../inner.js'
import { breathe } from '../translate/steps.js'
import { isCompaction, mayHoldCompaction } from './compactions.js'
import { mayRefer, referencesIn } from './references.js'
import { type Before, Turn, type Wishes } from './turn.js'

/** Whether requests on this route belong to conversations. */
export function isStateful(route: Pick<Route, 'protocol' | 'lane'>): boolean {
  return route.lane === 'exchange' && route.protocol?.name === STATEFUL
}

/** Whether what a request says of its conversation has to be known. */
export function readsState(route: Pick<Route, 'protocol' | 'lane' | 'answer'>): boolean {
  return namesState(route.protocol?.name, route.answer)
}

/** Members of which one has to say what is to be answered. */
const ASKING = ['input', 'previous_response_id', 'conversation', 'prompt'] as const

/** Throws `invalid_parameter` where nothing is asked: upstreams say so in many ways, and some answer all the same. */
export function checkInput(inBody: (name: string) => unknown): void {
  if (ASKING.some(name => (inBody(name) ?? null) !== null)) return
  throw new GatewayError('invalid_parameter', "Missing required parameter: 'input'.", {
    param: 'input',
    familyCode: 'missing_required_parameter',
  })
}

/** What a request says of its conversation; `references` absent where they are not known yet. Throws `invalid_parameter`. */
export function readWishes(inBody: (name: string) => unknown, references?: readonly string[]): Wishes {
  const previous = inBody('previous_response_id')
  if (previous !== undefined && previous !== null && typeof previous !== 'string') throw noText('previous_response_id')
  const conversation = inBody('conversation')
  if (conversation !== undefined && conversation !== null) {
    throw new GatewayError(
      'untranslatable',
      'Conversations by id are not served here: nobody could tell whose they are. Use previous_response_id.',
      { param: 'conversation' },
    )
  }
  return {
    previous: previous ?? undefined,
    store: inBody('store') !== false,
    background: inBody('background') === true,
    references,
  }
}

/**
 * Finds what came before a turn, and what its items refer to. Throws `previous_response_not_found` and `not_found`, without
 * a word to any upstream.
 */
export async function openTurn(call: Call, wishes: Wishes, body: Body): Promise<Turn> {
  const owner = call.key
  const inside = call.request instanceof InnerRequest ? call.request.inside : undefined
  const before = await findBefore(call, owner, wishes, inside)
  const { conversations } = call.kernel.state
  const { responseId } = inside ?? {}
  // Whoever began a run in the background keeps its response.
  const kept = responseId === undefined ? wishes : { ...wishes, store: false }
  const turn = new Turn(conversations, owner, call.model, kept, before, responseId)
  await turn.meet(wishes.references ?? (await referencesOf(call, body)))
  if (mayBeCompacted(turn, body)) turn.open = await call.kernel.state.compactions.opener(owner)
  inside?.local?.began(turn)
  return turn
}

/** Whether the conversation may hold an item that stands for a summary of ours. */
function mayBeCompacted({ before }: Turn, body: Body): boolean {
  if (before.by === 'gateway' && before.conversation.items.some(isCompaction)) return true
  return body.type === 'bytes' && mayHoldCompaction(body.bytes)
}

/** From the whole body, where a look at its form did not show all of it. */
async function referencesOf(call: Call, body: Body): Promise<readonly string[]> {
  if (body.type !== 'bytes' || !mayRefer(body.bytes)) return []
  await breathe(body.bytes.length)
  const document = await documentOfBody(call, body, { isKnown: name => name === 'input' })
  const references = isObject(document) ? referencesIn(document.input) : []
  call.memory.release()
  return references
}

async function findBefore(
  call: Call,
  owner: string,
  { previous }: Wishes,
  inside: Inside | undefined,
): Promise<Before> {
  if (previous === undefined) return { by: 'nobody' }
  const local = inside?.local?.find(previous)
  if (local !== undefined) return { by: 'gateway', conversation: local, durable: false }
  const { conversations } = call.kernel.state
  const found = await conversations.upTo(owner, previous)
  if (found.kind === 'kept') return { by: 'upstream', upstream: found.upstream }
  return { by: 'gateway', conversation: found, durable: true }
}

function noText(param: string): GatewayError {
  return new GatewayError('invalid_parameter', `'${param}' has to be a text.`, { param, familyCode: 'invalid_type' })
}
