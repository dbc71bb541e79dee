import { native } from '../../families/native.js'
import { endpoint, json } from '../../protocol.js'
import { JSON_HEADERS } from './stream.js'

const MAX_PAGE_ITEMS = 1000
const DEFAULT_PAGE_ITEMS = 50

/** `GET /v1beta/models`, page by page: `pageSize`, `pageToken`. */
export const nativeModels = endpoint(native, 'GET /v1beta/models', ({ models, query }) => {
  const from = Number(query.get('pageToken') ?? 0) || 0
  const size = Math.min(
    Math.max(0, Number(query.get('pageSize') ?? DEFAULT_PAGE_ITEMS)) || DEFAULT_PAGE_ITEMS,
    MAX_PAGE_ITEMS,
  )
  const next = from + size < models.length ? String(from + size) : undefined
  return json({ models: models.slice(from, from + size).map(model), nextPageToken: next }, 200, JSON_HEADERS)
})

export const nativeModelById = endpoint(native, 'GET /v1beta/models/{model}', ({ parameter: name }) =>
  json(model(name), 200, JSON_HEADERS),
)

const GENERATES = ['generateContent', 'countTokens']
const EMBEDS = ['embedContent']
const DRAWS = ['predict']
const FILMS = ['predictLongRunning']

function model(name: string): object {
  const embeds = name.startsWith('sim-embed')
  const methods = methodsOf(name)
  return {
    name: `models/${name}`,
    version: '001',
    displayName: name,
    description: 'A model of the simulator.',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: embeds ? 1 : 65_536,
    supportedGenerationMethods: methods,
    ...(methods === GENERATES ? { temperature: 1, topP: 0.95, topK: 64, maxTemperature: 2, thinking: true } : {}),
  }
}

function methodsOf(name: string): readonly string[] {
  if (name.startsWith('sim-embed')) return EMBEDS
  if (name.startsWith('sim-image')) return DRAWS
  return name.startsWith('sim-video') ? FILMS : GENERATES
}
