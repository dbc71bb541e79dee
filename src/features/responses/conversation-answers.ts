import { missingParameter } from '../../core/admission.js'
import { GatewayError } from '../../core/errors.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Route } from '../../core/plan.js'
import type { Answer } from '../../core/route-settings.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { readRequest } from '../../kernel/read-request.js'
import { itemIn, itemLines, parsedItem } from './conversation-lines.js'
import { noConversation, noConversationItem } from './faults.js'
import { pageOf } from './item-list.js'
import { type Item, itemsOf } from './items.js'
import { readMetadata } from './metadata.js'
import type { NamedConversation, NamedConversations } from './named-conversations.js'
import { STATE } from './state.js'

/** Most items that one request may add; the protocol's own bound. */
const MAX_ADDED = 20

/** Answers about conversations with ids. */
export const CONVERSATION_ANSWERS: Partial<Record<Answer, (call: Call, route: Route) => Promise<void>>> = {
  'conversation.create': create,
  conversation: show,
  'conversation.update': update,
  'conversation.delete': remove,
  'conversation.items': list,
  'conversation.items.create': add,
  'conversation.item': showItem,
  'conversation.item.delete': removeItem,
}

async function create(call: Call, route: Route): Promise<void> {
  const { metadata, items } = await documentOf(call, route)
  const given = items === undefined || items === null ? [] : await readItems(call, items)
  call.answer(200, shown(await named(call).create(call.key, readMetadata(metadata), given)))
}

async function show(call: Call): Promise<void> {
  call.answer(200, shown(await find(call)))
}

async function update(call: Call, route: Route): Promise<void> {
  const { metadata } = await documentOf(call, route)
  if (metadata === undefined) throw missingParameter('metadata')
  call.answer(200, shown(await named(call).update(call.key, idOf(call), readMetadata(metadata))))
}

async function remove(call: Call): Promise<void> {
  const id = idOf(call)
  if (!(await named(call).forget(call.key, id))) throw noConversation(id)
  call.answer(200, { id, object: 'conversation.deleted', deleted: true })
}

/** Only the page's items are parsed. */
async function list(call: Call): Promise<void> {
  const { data, ...page } = pageOf(itemLines(await find(call)), call.query)
  call.answer(200, { object: 'list', data: data.map(parsedItem), ...page })
}

async function add(call: Call, route: Route): Promise<void> {
  const { items } = await documentOf(call, route)
  if (items === undefined) throw missingParameter('items')
  const data = await named(call).add(call.key, idOf(call), await readItems(call, items))
  const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
  call.answer(200, { object: 'list', data, first_id: first, last_id: last, has_more: false })
}

async function showItem(call: Call): Promise<void> {
  const conversation = await find(call)
  const item = itemIn(conversation, itemOf(call))
  if (item === undefined) throw noConversationItem(itemOf(call), conversation.id)
  call.answer(200, item)
}

async function removeItem(call: Call): Promise<void> {
  call.answer(200, shown(await named(call).remove(call.key, idOf(call), itemOf(call))))
}

function shown({ id, head }: NamedConversation): JsonObject {
  const created_at = Math.floor(head.created / 1000)
  return { id, object: 'conversation', created_at, metadata: head.metadata }
}

function named(call: Call): NamedConversations {
  return call.kernel.need(STATE).conversations.named
}

function find(call: Call): Promise<NamedConversation> {
  return named(call).find(call.key, idOf(call))
}

/** The path's parameters, in order. */
function idOf({ params }: Call): string {
  return Object.values(params)[0] ?? ''
}

function itemOf({ params }: Call): string {
  return Object.values(params)[1] ?? ''
}

async function documentOf(call: Call, route: Route): Promise<JsonObject> {
  const body = await readRequest(call, route)
  return body.type === 'bytes' ? documentOfBody(call, body, { exact: true }) : {}
}

/** The items of a request, with references replaced by their items. Throws `invalid_parameter` and `not_found`. */
async function readItems(call: Call, items: Json): Promise<readonly Item[]> {
  if (!Array.isArray(items)) {
    throw new GatewayError('invalid_parameter', "'items' must be a list.", {
      param: 'items',
      familyCode: 'invalid_type',
    })
  }
  if (items.length > MAX_ADDED) {
    const message = `Invalid 'items': at most ${MAX_ADDED} items can be added at a time, but there are ${items.length}.`
    throw new GatewayError('invalid_parameter', message, { param: 'items', familyCode: 'array_above_max_length' })
  }
  return call.kernel.need(STATE).conversations.resolve(call.key, itemsOf(items, 'items'), [])
}
