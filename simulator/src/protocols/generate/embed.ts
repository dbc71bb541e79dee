import type { Fields } from '../../families/fields.js'
import { badArgument, badField, native, nativeFields } from '../../families/native.js'
import { IMAGE_TOKENS, wordsIn } from '../../image/measure.js'
import type { JsonObject } from '../../json.js'
import { type Call, endpoint, json } from '../../protocol.js'
import { textOf } from '../../text/conversation.js'
import { countTokens } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'
import { embedText } from '../embeddings/index.js'
import { readParts } from './contents.js'
import { readMessage } from './proto.js'
import { JSON_HEADERS } from './stream.js'

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 4096
const MAX_REQUESTS = 100

export const embedContent = endpoint(
  native,
  'POST /v1beta/models/{model}:embedContent',
  { body: 'json', models: ['sim-embed'] },
  call => {
    const request = nativeFields(readMessage('EmbedContentRequest', call.body))
    const { values, tokens } = embed(request)
    return answer({ embedding: { values } }, tokens, call)
  },
)

export const batchEmbedContents = endpoint(
  native,
  'POST /v1beta/models/{model}:batchEmbedContents',
  { body: 'json', models: ['sim-embed'] },
  call => {
    const requests = nativeFields(readMessage('BatchEmbedContentsRequest', call.body)).list('requests') ?? []
    if (requests.length === 0) throw badArgument('* BatchEmbedContentsRequest.requests: requests is not specified\n')
    if (requests.length > MAX_REQUESTS) {
      throw badArgument(`* BatchEmbedContentsRequest.requests: at most ${MAX_REQUESTS} requests can be in one batch\n`)
    }
    const embedded = requests.map(request => {
      checkModel(request, call.parameter)
      return embed(request)
    })
    const tokens = embedded.reduce((sum, each) => sum + each.tokens, 0)
    return answer({ embeddings: embedded.map(({ values }) => ({ values })) }, tokens, call)
  },
)

function answer(body: JsonObject, tokens: number, { faults }: Call) {
  const usage = { promptTokenCount: tokens, promptTokenDetails: [{ modality: 'TEXT', tokenCount: tokens }] }
  return json({ ...body, usageMetadata: spoiled(usage, faults) }, 200, JSON_HEADERS)
}

/** Each request of a batch names the model again. */
function checkModel(request: Fields, model: string): void {
  const named = request.string('model')
  if (named === undefined)
    throw badArgument(`* BatchEmbedContentsRequest.${request.path}.model: unexpected model name format\n`)
  if (bare(named) === model) return
  throw badArgument(`* BatchEmbedContentsRequest.model: all requests must be for models/${model}\n`)
}

/** The faults in a model's name are of no interest here. */
function bare(name: string): string | undefined {
  return name.replace(/^models\//, '').split('?', 1)[0]
}

function embed(request: Fields): { values: readonly number[]; tokens: number } {
  const said = readParts(request.need('content', request.fields))
  const images = said.flatMap(({ fields }) => imageIn(fields))
  const text = textOf(said.flatMap(({ part }) => (part ? [part] : [])))
  if (text === '' && images.length === 0) throw badField('content', 'content is empty')
  const config = request.fields('embedContentConfig') ?? request
  const bounds = { min: 1, max: MAX_DIMENSIONS }
  const asked = request.integer('outputDimensionality', bounds) ?? config.integer('outputDimensionality', bounds)
  const words = [...(text === '' ? [] : [text]), ...images.map(wordsIn)].join('\n')
  const tokens = countTokens(text) + images.length * IMAGE_TOKENS
  return { values: [...embedText(words, asked ?? DEFAULT_DIMENSIONS)], tokens }
}

/** The base64 of an image; other media say nothing to this model. */
function imageIn(part: Fields): readonly string[] {
  const data = part.fields('inlineData')
  if (data?.string('mimeType')?.startsWith('image/') !== true) return []
  return [data.need('data', data.string)]
}
