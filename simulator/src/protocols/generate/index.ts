import { native, nativeArray } from '../../families/native.js'
import { json, type Protocol } from '../../protocol.js'
import { generate } from './candidates.js'
import { batchEmbedContents, embedContent } from './embed.js'
import { nativeModelById, nativeModels } from './models.js'
import { predict } from './predict.js'
import { readGenerate } from './request.js'
import { chunks, whole } from './response.js'
import { arrayStream, eventStream, JSON_HEADERS } from './stream.js'
import { countTokens } from './usage.js'

const OPERATION = '/v1beta/models/{model}:generateContent'
const SHARED = { method: 'POST', operation: OPERATION, body: 'json', family: native, models: ['sim-generate'] } as const

/** `POST /v1beta/models/{model}:generateContent`. */
const generateContent: Protocol = {
  ...SHARED,
  path: OPERATION,
  answer: call => json(whole(generate(readGenerate(call), call), call.faults), 200, JSON_HEADERS),
}

const STREAM = '/v1beta/models/{model}:streamGenerateContent'

/** `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`. */
const streamEvents: Protocol = {
  ...SHARED,
  path: STREAM,
  serves: (_, query) => query.get('alt') === 'sse',
  answer: call => eventStream(chunks(generate(readGenerate(call), call), call.faults), call.requestId),
}

/** The same without `alt=sse`. */
const streamArray: Protocol = {
  ...SHARED,
  path: STREAM,
  family: nativeArray,
  answer: call => arrayStream(chunks(generate(readGenerate(call), call), call.faults), call.requestId),
}

export const GENERATE: readonly Protocol[] = [
  generateContent,
  streamEvents,
  streamArray,
  countTokens,
  embedContent,
  batchEmbedContents,
  predict,
  nativeModels,
  nativeModelById,
]
