import type { Family } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { ModelEntry } from '../../core/model-entry.js'
import { pageByIds, pageByToken, type Query } from './pages.js'

/** A model's methods, by the native protocol's names: `generateContent`. */
export type MethodsOf = (model: string) => readonly string[]

/** How each family writes models. */
interface ModelShape {
  one(entry: ModelEntry, methods: MethodsOf): JsonObject
  /** Throws `invalid_parameter` for an invalid page. */
  list(entries: readonly ModelEntry[], methods: MethodsOf, query: Query): JsonObject
}

const compatible: ModelShape = {
  one: ({ id, created, owner }) => ({ id, object: 'model', created, owned_by: owner }),
  list: (entries, methods) => ({ object: 'list', data: entries.map(entry => compatible.one(entry, methods)) }),
}

const messages: ModelShape = {
  one: ({ id, created }) => ({
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
  }),
  list: (entries, methods, query) => {
    const { items, more } = pageByIds(entries, query)
    return {
      data: items.map(entry => messages.one(entry, methods)),
      has_more: more,
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null,
    }
  },
}

const native: ModelShape = {
  one: ({ id }, methods) => ({ name: `models/${id}`, displayName: id, supportedGenerationMethods: [...methods(id)] }),
  list: (entries, methods, query) => {
    const { items, next } = pageByToken(entries, query)
    const models = items.map(entry => native.one(entry, methods))
    return next === undefined ? { models } : { models, nextPageToken: next }
  },
}

/** Families without a shape of their own use the compatible one. */
export function modelShape(family: Family): ModelShape {
  return family === 'messages' ? messages : family === 'native' ? native : compatible
}
