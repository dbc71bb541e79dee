import type { Test } from 'tap'
import type { EmbedCodec } from '../../src/core/codec.js'
import { EMBED_FIELDS, type EmbedField, type EmbedRequest, type EmbedResult } from '../../src/core/embed.js'
import { GatewayError } from '../../src/core/errors.js'
import type { JsonObject } from '../../src/core/json.js'
import { type OpenApiName, openApi, openApiFolder, openApiSchemas } from '../helpers/openapi.js'
import { fc } from '../helpers/property.js'
import { uncovered } from './coverage.js'
import { hostile, hostileObject } from './hostile.js'
import { MADE_UP, smallTarget } from './small-target.js'
import { brief, onlyGatewayErrors, plain } from './support.js'

const BASE: EmbedRequest = { model: 'm', inputs: [texts('Rain.')], encoding: 'float', left: [] }
const PIXEL = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'aWJlaQ==' } } as const

function texts(text: string): EmbedRequest['inputs'][number] {
  return { parts: [{ type: 'text', text }] }
}

const SAMPLES: Readonly<Record<EmbedField, Partial<EmbedRequest>>> = {
  inputs: {},
  tokenInputs: { inputs: [{ tokens: [1, 2, 3] }] },
  mediaInputs: { inputs: [{ parts: [PIXEL] }] },
  dimensions: { dimensions: 3 },
  encoding: { encoding: 'base64' },
  task: { task: 'RETRIEVAL_QUERY' },
  title: { task: 'RETRIEVAL_DOCUMENT', title: 'Weather' },
  user: { user: 'user-1' },
}

const NAMES: Readonly<Record<string, string>> = {
  embeddings: 'embeddings',
  'embed-content': 'embed',
  'embed-contents': 'embed-batch',
}

/** What every codec of embeddings has to do. */
export function embedContract(t: Test, codec: EmbedCodec): void {
  const { protocol, client, server } = codec
  const name = NAMES[protocol] ?? protocol
  const skip = openApiFolder() === undefined
  const openApiRequest = `${name}.request` as OpenApiName

  t.test('fields: every member of the OpenAPI document is in a row', { skip }, async t => {
    const { schemas, root } = openApiSchemas(openApiRequest)
    t.same(uncovered(server.fields, schemas.members(root)), [])
  })

  for (const field of Object.keys(EMBED_FIELDS) as EmbedField[]) {
    const carry = client.carries[field]
    t.test(`${field}: ${typeof carry === 'string' ? carry : Object.keys(carry)}`, async t => {
      const request = { ...BASE, ...SAMPLES[field] }
      const { target, lost } = smallTarget(codec.client.carries)
      if (typeof carry === 'object' && 'refused' in carry) {
        t.throws(() => client.encodeRequest(request, target), { code: 'untranslatable' })
        return
      }
      const body = plain(client.encodeRequest(request, target)) as JsonObject
      if (!skip) t.same(openApi(openApiRequest)(body), [], brief(body))
      if (typeof carry === 'object' && 'dropped' in carry) t.ok(lost.includes(field), 'its loss is said')
      if (carry !== 'carried') return
      t.notOk(lost.includes(field), 'nothing of it is lost')
      const back = server.decodeRequest(body, { model: 'm', stream: false })
      // Vectors are asked for as numbers, however the client wants them written.
      if (field !== 'encoding') t.match(withoutPlaces(back), SAMPLES[field], brief(body))
    })
  }

  for (const image_inputs of ['objects', 'parts'] as const) {
    t.test(`mediaInputs, of models that are declared so (${image_inputs}): carried`, async t => {
      const request = { ...BASE, inputs: [{ parts: [PIXEL] }] }
      const { target, lost } = smallTarget(codec.client.carries, { image_inputs })
      const body = plain(client.encodeRequest(request, target)) as JsonObject
      t.same(lost, [])
      const { inputs } = server.decodeRequest(body, { model: 'm', stream: false })
      t.match(inputs, [{ parts: [{ type: 'media', kind: 'image', source: PIXEL.source }] }], brief(body))
    })
  }

  t.test('an answer comes back as it was', async t => {
    const result: EmbedResult = { model: 'm', vectors: [[0.5, -0.25, 0]], input: 3 }
    for (const encoding of ['float', 'base64'] as const) {
      const request = { ...BASE, encoding }
      const body = plain(server.encodeResult(result, request, MADE_UP))
      if (!skip && encoding === 'float') t.same(openApi(`${name}.response` as OpenApiName)(body), [], brief(body))
      t.match(client.decodeResult(body, request), { vectors: result.vectors })
    }
  })

  t.test('hostile documents: nothing but errors of the gateway', async () => {
    const bodies = Object.values(SAMPLES).flatMap(sample => {
      const body = onlyGatewayErrors(() =>
        client.encodeRequest({ ...BASE, ...sample }, smallTarget(codec.client.carries).target),
      )
      return body instanceof GatewayError ? [] : [plain(body)]
    })
    const answers = [plain(server.encodeResult({ model: 'm', vectors: [[0.5, 1]], input: 1 }, BASE, MADE_UP))]
    fc.assert(
      fc.property(hostileObject(bodies), hostile(answers), (body, answer) => {
        const request = onlyGatewayErrors(() => server.decodeRequest(body, { model: 'm', stream: false }))
        onlyGatewayErrors(() => client.decodeResult(answer, BASE))
        onlyGatewayErrors(() => client.decodeError(400, answer))
        if (!(request instanceof GatewayError))
          onlyGatewayErrors(() => client.encodeRequest(request, smallTarget(codec.client.carries).target))
      }),
      { numRuns: 300, endOnFailure: true },
    )
  })
}

function withoutPlaces(request: EmbedRequest): unknown {
  return JSON.parse(JSON.stringify(request, (key, value) => (key === 'at' ? undefined : value)))
}
