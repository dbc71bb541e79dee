import { missingParameter } from '../../core/admission.js'
import { GatewayError } from '../../core/errors.js'
import type { Route } from '../../core/plan.js'
import type { Answer } from '../../core/route-settings.js'
import type { Range } from '../../core/store.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { readRequest } from '../../kernel/read-request.js'
import { itemLines, parsedItem } from '../responses/conversation-lines.js'
import { noCompletion } from '../responses/faults.js'
import { isAscending, pageOf, readLimit } from '../responses/item-list.js'
import { readMetadata } from '../responses/metadata.js'
import { COMPLETION_STORE, type CompletionHead, type Completions, type StoredCompletion } from './completions.js'

/** Answers about stored chat completions. */
export const COMPLETION_ANSWERS: Partial<Record<Answer, (call: Call, route: Route) => Promise<void>>> = {
  completions: list,
  completion: show,
  'completion.update': update,
  'completion.delete': remove,
  'completion.messages': messages,
}

/** Lists completions without parsing any. */
async function list(call: Call): Promise<void> {
  const { items, more } = await completions(call).page(call.key, rangeOf(call), filterOf(call))
  const [first, last] = [items[0]?.id ?? null, items.at(-1)?.id ?? null]
  const tail = `],"first_id":${JSON.stringify(first)},"last_id":${JSON.stringify(last)},"has_more":${more}}`
  const pieces = items.flatMap(({ json }, index) => (index === 0 ? [json] : [COMMA, json]))
  call.answerBytes(200, Buffer.concat([LIST, ...pieces, Buffer.from(tail)]), [])
}

const LIST = Buffer.from('{"object":"list","data":[')
const COMMA = Buffer.from(',')

async function show(call: Call): Promise<void> {
  answerWith(call, await completions(call).find(call.key, idOf(call)))
}

async function update(call: Call, route: Route): Promise<void> {
  const body = await readRequest(call, route)
  const document = body.type === 'bytes' ? await documentOfBody(call, body, { exact: true }) : {}
  if (document.metadata === undefined) throw missingParameter('metadata')
  answerWith(call, await completions(call).update(call.key, idOf(call), readMetadata(document.metadata)))
}

async function remove(call: Call): Promise<void> {
  const id = idOf(call)
  if (!(await completions(call).forget(call.key, id))) throw noCompletion(id)
  call.answer(200, { object: 'chat.completion.deleted', id, deleted: true })
}

/** Only the page's messages are parsed. */
async function messages(call: Call): Promise<void> {
  const found = await completions(call).messagesOf(call.key, idOf(call))
  const { data, ...page } = pageOf(itemLines(found), call.query, 'asc')
  call.answer(200, { object: 'list', data: data.map(parsedItem), ...page })
}

function answerWith(call: Call, { head, json }: StoredCompletion): void {
  call.model = head.model
  call.answerBytes(200, json, [])
}

function rangeOf(call: Call): Range {
  const { query } = call
  const limit = readLimit(query?.get('limit'))
  const order = isAscending(query?.get('order') ?? 'asc') ? 'ascending' : 'descending'
  const key = query?.get('after') ?? ''
  if (key === '') return { order, limit }
  const created = completions(call).momentIn(key)
  if (created === undefined) throw refused("'after' is not the id of a stored chat completion.", 'after')
  return { order, limit, after: { created, key } }
}

/** `model=…`, and any number of `metadata[name]=value`; a completion must match them all. */
function filterOf({ query }: Call): (head: CompletionHead) => boolean {
  const model = query?.get('model') ?? ''
  const pairs: (readonly [name: string, value: string])[] = []
  for (const [name, value] of query ?? []) {
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1]
    if (key !== undefined) pairs.push([key, value])
    else if (name === 'metadata' && value !== '')
      throw refused("'metadata' must be written as metadata[name]=value.", name)
  }
  return head =>
    (model === '' || head.model === model || head.answered === model) &&
    pairs.every(([name, value]) => Object.hasOwn(head.metadata, name) && head.metadata[name] === value)
}

function completions(call: Call): Completions {
  return call.kernel.need(COMPLETION_STORE)
}

function idOf({ params }: Call): string {
  return Object.values(params)[0] ?? ''
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param, familyCode: 'invalid_value' })
}
