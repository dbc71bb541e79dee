import t from 'tap'
import { edits, editsByChat, editsByGenerate } from '../../../src/codecs/images/index.js'
import { GatewayError } from '../../../src/core/errors.js'
import { EDIT_FIELDS, type EditField, type EditRequest, type ImageResult } from '../../../src/core/image.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { MediaPart } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { fc } from '../../helpers/property.js'
import { IMAGE_SAMPLES } from '../contract-images.js'
import { hostileObject } from '../hostile.js'
import { MADE_UP, smallTarget } from '../small-target.js'
import { brief, onlyGatewayErrors, plain } from '../support.js'

const PNG = 'iVBORw0KGgoAAAAN'
const JPEG = '/9j/4AAQSkZJRgAB'
const png = (at: string): MediaPart => ({
  ...{ type: 'media', kind: 'image', mime: 'image/png', source: { base64: PNG }, at },
})
const url = (base64: string, mime = 'image/png'): string => `data:${mime};base64,${base64}`

const head = { model: 'm', stream: false }
const decode = (body: object): EditRequest => edits.server.decodeRequest(body as JsonObject, head)

const BASE: EditRequest = { model: 'm', prompt: 'By night', stream: false, left: [], images: [png('image')] }
const RESULT: ImageResult = {
  created: 1_735_689_600,
  images: [{ source: { base64: PNG }, mime: 'image/png' }, { source: { base64: PNG } }],
  input: 50,
  output: 7,
}

const SAMPLES: Readonly<Record<EditField, Partial<EditRequest>>> = {
  ...IMAGE_SAMPLES,
  images: { images: [png('image[0]'), png('image[1]')] },
  imageFiles: { images: [{ type: 'media', kind: 'image', source: { file: 'file-1', of: 'images.edits' } }] },
  mask: { mask: png('mask') },
  fidelity: { fidelity: 'high' },
}

const CODECS = [edits, editsByGenerate, editsByChat] as const

for (const { protocol, client } of CODECS) {
  const skip = openApiFolder() === undefined
  for (const field of Object.keys(EDIT_FIELDS) as EditField[]) {
    const carry = client.carries[field]
    t.test(`${protocol}, ${field}: ${typeof carry === 'string' ? carry : Object.keys(carry)}`, async t => {
      const asked = { ...BASE, ...SAMPLES[field] }
      const { target, lost } = smallTarget(client.carries)
      if (typeof carry === 'object' && 'refused' in carry) {
        t.throws(() => client.encodeRequest(asked, target), { code: 'untranslatable' })
        return
      }
      const body = plain(client.encodeRequest(asked, target)) as JsonObject
      if (!skip && protocol === 'generate') t.same(openApi('generate.request')(body), [], brief(body))
      t.equal(lost.includes(field), typeof carry === 'object', 'its loss is said')
      if (carry === 'carried' && field !== 'prompt')
        t.not(JSON.stringify(body), JSON.stringify(client.encodeRequest(BASE, smallTarget(client.carries).target)))
    })
  }
}

t.test('images come before the prompt', async t => {
  const asked = {
    ...BASE,
    images: [png('image[0]'), { ...png('image[1]'), mime: 'image/jpeg', source: { base64: JPEG } }],
  }
  const native = editsByGenerate.client.encodeRequest(asked, smallTarget(editsByGenerate.client.carries).target)
  t.match(native, {
    contents: [
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'image/png', data: PNG } },
          { inlineData: { mimeType: 'image/jpeg', data: JPEG } },
          { text: 'By night' },
        ],
      },
    ],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
  })
  const chat = editsByChat.client.encodeRequest(asked, smallTarget(editsByChat.client.carries).target)
  t.match(chat, {
    modalities: ['text', 'image'],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: url(PNG) } },
          { type: 'image_url', image_url: { url: url(JPEG, 'image/jpeg') } },
          { type: 'text', text: 'By night' },
        ],
      },
    ],
  })
})

t.test('a form: one file or several, numbers as texts, and what is empty is not given', async t => {
  const one = decode({
    image: url(PNG),
    prompt: 'x',
    n: '2',
    output_compression: '',
    partial_images: '0',
    size: 'auto',
  })
  t.same(one, { ...BASE, prompt: 'x', count: 2 })
  const two = decode({ image: [url(PNG), url(JPEG, 'application/octet-stream')], prompt: 'x', mask: url(PNG) })
  t.match(two, {
    images: [{ at: 'image[0]' }, { mime: 'image/jpeg', source: { base64: JPEG }, at: 'image[1]' }],
    mask: { source: { base64: PNG } },
  })
})

t.test('JSON: images by address, as bytes and by the id of a file', async t => {
  const references = [{ image_url: 'https://a.example/b.png' }, { image_url: url(PNG) }, { file_id: 'file-1' }]
  t.match(decode({ images: references, prompt: 'x', mask: null, input_fidelity: 'low', strength: 1 }), {
    images: [
      { source: { url: 'https://a.example/b.png' }, at: 'images[0].image_url' },
      { source: { base64: PNG }, mime: 'image/png' },
      { source: { file: 'file-1' }, at: 'images[2].file_id' },
    ],
    mask: undefined,
    fidelity: 'low',
    left: [{ field: 'strength' }],
    others: { strength: 1 },
  })
})

t.test('what is not an image is refused by its name', async t => {
  for (const [body, param] of [
    [{}, 'image'],
    [{ images: [] }, 'images'],
    [{ image: url('PHN2Zy8+') }, 'image'],
    [{ image: [url(PNG), url('', 'image/png')] }, 'image[1]'],
    [{ image: 'a.png' }, 'image'],
    [{ image: 5 }, 'image'],
    [{ images: [{}] }, 'images[0]'],
    [{ images: [{ image_url: 'file:///etc/passwd' }] }, 'images[0].image_url'],
    [{ images: [{ image_url: 'data:text/plain,hello' }] }, 'images[0].image_url'],
    [{ image: url(PNG), mask: url('PHN2Zy8+') }, 'mask'],
    [{ image: url(PNG), mask: { image_url: 'x' } }, 'mask.image_url'],
    [{ image: url(PNG), n: 'many' }, 'n'],
  ] as const)
    t.throws(() => decode({ prompt: 'x', ...body }), { code: 'invalid_parameter', details: { param } }, param)
})

t.test('answers and events are those of the OpenAPI document', { skip: openApiFolder() === undefined }, async t => {
  const answer = plain(edits.server.encodeResult(RESULT, BASE, MADE_UP))
  t.same(openApi('images.response')(answer), [])
  t.match(answer, { usage: { input_tokens: 50, input_tokens_details: { text_tokens: 2, image_tokens: 48 } } })
  const events = edits.server.encodeEvents?.(RESULT, BASE, MADE_UP) ?? []
  t.equal(events.length, 2)
  for (const { event, data } of events) {
    t.equal(event, 'image_edit.completed')
    t.same(openApi('images.edit-event')(JSON.parse(data)), [])
  }
})

t.test('hostile requests: nothing but errors of the gateway', async () => {
  const bodies: JsonObject[] = [
    { prompt: 'x', image: url(PNG), n: '2', mask: url(PNG) },
    { prompt: 'x', images: [{ image_url: url(PNG) }, { file_id: 'f' }], mask: { file_id: 'f' }, n: 1 },
  ]
  fc.assert(
    fc.property(hostileObject(bodies), body => {
      const asked = onlyGatewayErrors(() => decode(body))
      if (asked instanceof GatewayError) return
      for (const { client } of CODECS)
        onlyGatewayErrors(() => client.encodeRequest(asked, smallTarget(client.carries).target))
    }),
    { numRuns: 300, endOnFailure: true },
  )
})
