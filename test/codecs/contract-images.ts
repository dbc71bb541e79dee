import type { Test } from 'tap'
import type { ImageCodec } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import { IMAGE_FIELDS, type ImageField, type ImageRequest, type ImageResult } from '../../src/core/image.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import { type OpenApiName, openApi, openApiFolder, openApiSchemas } from '../helpers/openapi.js'
import { fc } from '../helpers/property.js'
import { uncovered } from './coverage.js'
import { hostile, hostileObject } from './hostile.js'
import { MADE_UP, smallTarget } from './small-target.js'
import { brief, onlyGatewayErrors, plain } from './support.js'

const BASE: ImageRequest = { model: 'm', prompt: 'A lighthouse', stream: false, left: [] }
const RESULT: ImageResult = {
  created: 1_735_689_600,
  images: [
    { source: { base64: 'AAAA' }, mime: 'image/png', prompt: 'A tall lighthouse' },
    { source: { base64: 'BBBB' } },
  ],
  input: 5,
  output: 7,
}

/** A request for each field that says something with it. */
export const IMAGE_SAMPLES: Readonly<Record<ImageField, Partial<ImageRequest>>> = {
  prompt: {},
  count: { count: 2 },
  size: { size: { width: 1536, height: 1024 } },
  aspect: { aspect: '16:9' },
  resolution: { resolution: '2K' },
  urls: { urls: true },
  quality: { quality: 'high' },
  style: { style: 'vivid' },
  background: { background: 'transparent' },
  mime: { mime: 'image/jpeg' },
  compression: { compression: 80 },
  moderation: { moderation: 'low' },
  partials: { partials: 2 },
  negative: { negative: 'people' },
  seed: { seed: 7 },
  user: { user: 'user-1' },
}

/** How an upstream of each protocol answers. */
const ANSWERS: Readonly<Record<string, Json>> = {
  'images.generations': plain({ data: [{ b64_json: 'AAAA' }], usage: { input_tokens: 1, output_tokens: 2 } }),
  predict: { predictions: [{ bytesBase64Encoded: 'AAAA', mimeType: 'image/png' }, { raiFilteredReason: 'no' }] },
  generate: {
    candidates: [{ content: { parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
  },
  chat: {
    choices: [
      {
        message: {
          content: 'Here.',
          images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
        },
        finish_reason: 'stop',
      },
    ],
  },
}

const REQUESTS: Readonly<Record<string, OpenApiName>> = {
  'images.generations': 'images.request',
  generate: 'generate.request',
}

/** What every codec of images has to do. Those that ask models of texts are asked by no one themselves. */
export function imageContract(t: Test, codec: ImageCodec): void {
  const { protocol, client, server } = codec
  const head = { model: 'm', stream: false }
  const isServed = Object.keys(server.fields).length > 0
  const request = REQUESTS[protocol]
  const skip = openApiFolder() === undefined

  if (protocol === 'images.generations') {
    t.test('fields: every member of the OpenAPI document is in a row', { skip }, async t => {
      const { schemas, root } = openApiSchemas('images.request')
      t.same(uncovered(server.fields, schemas.members(root)), [])
    })
    t.test('answers and events are those of the OpenAPI document', { skip }, async t => {
      const { encodeEvents } = server
      t.same(openApi('images.response')(plain(server.encodeResult(RESULT, BASE, MADE_UP))), [])
      const events = encodeEvents?.(RESULT, BASE, MADE_UP) ?? []
      t.equal(events.length, 2)
      for (const { event, data } of events) {
        t.same(openApi('images.event')(JSON.parse(data)), [])
        t.equal(event, (JSON.parse(data) as JsonObject).type)
      }
    })
  }

  for (const field of Object.keys(IMAGE_FIELDS) as ImageField[]) {
    const carry = client.carries[field]
    t.test(`${field}: ${typeof carry === 'string' ? carry : Object.keys(carry)}`, async t => {
      const asked = { ...BASE, ...IMAGE_SAMPLES[field] }
      const { target, lost } = smallTarget(client.carries)
      if (typeof carry === 'object' && 'refused' in carry) {
        t.throws(() => client.encodeRequest(asked, target), { code: 'untranslatable' })
        return
      }
      const body = plain(client.encodeRequest(asked, target)) as JsonObject
      if (!skip && request !== undefined) t.same(openApi(request)(body), [], brief(body))
      if (typeof carry === 'object') t.ok(lost.includes(field), 'its loss is said')
      if (carry !== 'carried') return
      t.notOk(lost.includes(field), 'nothing of it is lost')
      if (isServed) t.match(server.decodeRequest(body, head), IMAGE_SAMPLES[field], brief(body))
      else if (field !== 'prompt') t.not(JSON.stringify(body), JSON.stringify(client.encodeRequest(BASE, target)))
    })
  }

  t.test('what is not said is not asked for', async t => {
    const { target, lost } = smallTarget(client.carries)
    client.encodeRequest(BASE, target)
    t.same(lost, [])
  })

  t.test('an answer is read, and comes back as it was', async t => {
    const { images } = client.decodeResult(ANSWERS[protocol] ?? null, BASE)
    t.match(images, [{ source: { base64: 'AAAA' } }])
    if (!isServed) return
    const back = client.decodeResult(plain(server.encodeResult(RESULT, BASE, MADE_UP)), BASE)
    t.match(back.images, [{ source: { base64: 'AAAA' }, prompt: 'A tall lighthouse' }, { source: { base64: 'BBBB' } }])
  })

  t.test('an answer without an image is not an answer', async t => {
    for (const body of [null, [], {}, 'x', { data: [{}] }, { predictions: [null] }, { candidates: [{}] }])
      t.throws(() => client.decodeResult(body as Json, BASE), { code: 'bad_upstream_response' }, brief(body))
  })

  t.test('hostile documents: nothing but errors of the gateway', async () => {
    const bodies = Object.values(IMAGE_SAMPLES).flatMap(sample => {
      const body = onlyGatewayErrors(() =>
        client.encodeRequest({ ...BASE, ...sample }, smallTarget(client.carries).target),
      )
      return body instanceof GatewayError ? [] : [plain(body) as JsonObject]
    })
    fc.assert(
      fc.property(hostileObject(bodies), hostile([ANSWERS[protocol] ?? null]), (body, answer) => {
        const result = onlyGatewayErrors(() => client.decodeResult(answer, BASE))
        onlyGatewayErrors(() => client.decodeError(400, answer))
        if (!(result instanceof GatewayError) && result.images.length === 0) throw new Error('no image')
        if (!isServed) return
        if (!(result instanceof GatewayError)) onlyGatewayErrors(() => server.encodeResult(result, BASE, MADE_UP))
        const asked = onlyGatewayErrors(() => server.decodeRequest(body, head))
        if (!(asked instanceof GatewayError))
          onlyGatewayErrors(() => client.encodeRequest(asked, smallTarget(client.carries).target))
      }),
      { numRuns: 300, endOnFailure: true },
    )
  })
}
