import { messageBlocks } from '../../families/messages.js'
import { endpoint, json, type RequestHeaders } from '../../protocol.js'
import { EPOCH_SECONDS } from '../../seed.js'

const MAX_PAGE_ITEMS = 1000
const DEFAULT_PAGE_ITEMS = 20

/** Clients of this family are known by where they put their key, or by the version of the protocol that they name. */
function serves(headers: RequestHeaders): boolean {
  const { authorization, 'x-api-key': key } = headers
  return (key !== undefined && authorization === undefined) || Object.keys(headers).some(name => VERSION.test(name))
}

const VERSION = /^[a-z]+-version$/

/** `GET /v1/models`, page by page: `limit`, `before_id`, `after_id`. */
export const messageModels = endpoint(messageBlocks, 'GET /v1/models', { serves }, ({ models, query }) => {
  const after = models.indexOf(query.get('after_id') ?? '') + 1
  const before = models.indexOf(query.get('before_id') ?? '')
  const open = models.slice(after, before < 0 ? undefined : before)
  const limit = Math.min(Number(query.get('limit') ?? DEFAULT_PAGE_ITEMS) || DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS)
  const page = before < 0 ? open.slice(0, limit) : open.slice(-limit)
  return json({
    data: page.map(model),
    has_more: page.length < open.length,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  })
})

export const messageModelById = endpoint(messageBlocks, 'GET /v1/models/{id}', { serves }, ({ parameter: id }) =>
  json(model(id)),
)

function model(id: string): object {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: `${new Date(EPOCH_SECONDS * 1000).toISOString().slice(0, 19)}Z`,
    max_input_tokens: null,
    max_tokens: null,
    capabilities: null,
  }
}
