import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { embedContents } from '../../../src/codecs/embed-content/index.js'
import { embeddings } from '../../../src/codecs/embeddings/index.js'
import { images, imagesByGenerate } from '../../../src/codecs/images/index.js'
import { predict } from '../../../src/codecs/predict/index.js'
import type { ImageRequest } from '../../../src/core/image.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { readRecordings, recordingsFile, referenceFolder } from '../../helpers/recordings.js'
import { MADE_UP, smallTarget } from '../small-target.js'
import { plain } from '../support.js'

/** Recorded images, read by the codec of their protocol and told in the others. */

const file = recordingsFile()
const skip = file === undefined || openApiFolder() === undefined
const HEAD = { model: 'm', stream: false }
const ASKED: ImageRequest = { model: 'm', prompt: 'x', stream: false, left: [] }

/** Recordings with large bodies, which are kept unchanged. */
function text(...path: string[]): string {
  return readFileSync(join(referenceFolder(), 'recordings', ...path), 'utf8')
}

interface Cassette {
  readonly interactions: readonly {
    readonly request: { readonly parsed_body: JsonObject }
    readonly response: { readonly parsed_body: JsonObject }
  }[]
  readonly http_interactions: readonly {
    readonly request: { readonly body: { readonly string: string } }
    readonly response: { readonly body: { readonly string: string } }
  }[]
}

t.test('a native answer with an image, for clients of images', { skip }, async t => {
  const folder = ['pydantic-ai', 'tests', 'models', 'cassettes', 'test_google']
  const cassette = parse(text(...folder, 'test_google_vertexai_image_generation_with_output_format.yaml')) as Cassette
  const [exchange] = cassette.interactions
  const answer = exchange?.response.parsed_body ?? {}
  const result = imagesByGenerate.client.decodeResult(answer, ASKED)
  const told = plain(images.server.encodeResult(result, ASKED, MADE_UP)) as { data: { b64_json: string }[] }
  t.same(openApi('images.response')(told), [])
  t.match(told, { output_format: 'jpeg', usage: { input_tokens: 9, output_tokens: 1290, total_tokens: 1299 } })
  const bytes = Buffer.from(told.data[0]?.b64_json ?? '', 'base64')
  t.equal(bytes.toString('hex', 0, 3), 'ffd8ff', 'a JPEG')
  t.ok(JSON.stringify(answer).includes(told.data[0]?.b64_json ?? 'nothing'), 'the same base64')
  t.match(plain(predict.server.encodeResult(result, ASKED, MADE_UP)), { predictions: [{ mimeType: 'image/jpeg' }] })
})

t.test('a recorded prediction, for clients of images, and its request for other upstreams', { skip }, async t => {
  const name = 'Client_Tests_generateImages_Vertex_AI_should_generate_images_with_specified_parameters.json'
  const recorded = JSON.parse(text('js-genai', 'test', 'system', 'recordings', name)) as {
    interactions: { request: { bodySegments: JsonObject[] }; response: { bodySegments: Json[] } }[]
  }
  const [exchange] = recorded.interactions
  const request = predict.server.decodeRequest(exchange?.request.bodySegments[0] ?? {}, HEAD)
  t.match(request, { prompt: 'Robot holding a red skateboard', count: 1, mime: 'image/jpeg' })
  t.same(request.left, [{ field: 'parameters.includeSafetyAttributes', why: 'only this protocol has this parameter' }])
  const compatible = images.client.encodeRequest(request, smallTarget(images.client.carries).target)
  t.match(compatible, { prompt: request.prompt, n: 1, output_format: 'jpeg' })
  t.same(openApi('images.request')(compatible), [])
  const native = imagesByGenerate.client.encodeRequest(request, smallTarget(imagesByGenerate.client.carries).target)
  t.same(openApi('generate.request')(plain(native)), [])

  const result = predict.client.decodeResult(exchange?.response.bodySegments[0] ?? null, request)
  t.equal(result.images.length, 1, 'what is said of the prompt is no image')
  const told = plain(images.server.encodeResult(result, ASKED, MADE_UP))
  t.same(openApi('images.response')(told), [])
  t.match(told, { output_format: 'jpeg', data: [{ revised_prompt: /^A detailed, high-quality image/ }] })
})

t.test('recorded answers of compatible servers, by address and as bytes', { skip }, async t => {
  let answers = 0
  for await (const { request, response, file: name } of readRecordings(String(file))) {
    if (!request.url.endsWith('/images/generations') || response.status !== 200 || response.body === '') continue
    const asked = images.server.decodeRequest(request.body as JsonObject, HEAD)
    t.same(asked.left, [], name)
    const result = images.client.decodeResult(JSON.parse(response.body), asked)
    t.match(result.images, [{ source: { url: /^https:/ } }], name)
    t.throws(() => predict.server.encodeResult(result, asked, MADE_UP), { code: 'bad_upstream_response' })
    answers += 1
  }
  t.ok(answers >= 3, `${answers}`)
  const folder = ['ruby_llm', 'spec', 'fixtures', 'vcr_cassettes']
  const name =
    'image_edit_functionality_with_openrouter_reference_images_openrouter_google_gemini-3_1-flash-lite-image_edits_images_passed_via_with.yml'
  const cassette = parse(text(...folder, name)) as Cassette
  const body = JSON.parse(cassette.http_interactions[0]?.response.body.string ?? '') as JsonObject
  const result = images.client.decodeResult(body, ASKED)
  t.match(result, { images: [{ mime: 'image/jpeg' }], input: 1125, output: 1120 })
  t.same(openApi('images.response')(plain(images.server.encodeResult(result, ASKED, MADE_UP))), [])
})

t.test('a recorded batch with an image beside a text, for compatible upstreams', { skip }, async t => {
  const folder = ['ruby_llm', 'spec', 'fixtures', 'vcr_cassettes']
  const name = 'embedding_multimodal_embeddings_gemini_gemini-embedding-2_embeds_an_image_alongside_text.yml'
  const [exchange] = (parse(text(...folder, name)) as Cassette).http_interactions
  const request = embedContents.server.decodeRequest(
    JSON.parse(exchange?.request.body.string ?? '') as JsonObject,
    HEAD,
  )
  t.same(request.left, [])
  const { target } = smallTarget(embeddings.client.carries, { image_inputs: 'parts' })
  t.match(embeddings.client.encodeRequest(request, target), {
    input: [
      {
        content: [
          { type: 'text', text: 'The Ruby logo' },
          { type: 'image_url', image_url: { url: /^data:image\/png;base64,iVBORw0KGgo/ } },
        ],
      },
    ],
  })
  const result = embedContents.client.decodeResult(JSON.parse(exchange?.response.body.string ?? ''), request)
  t.equal(result.vectors.length, 1)
  t.same(openApi('embeddings.response')(plain(embeddings.server.encodeResult(result, request, MADE_UP))), [])
})
