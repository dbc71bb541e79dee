import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { command } from '../cli/in-process.js'
import { startTestGateway } from '../helpers/gateway.js'

const KEYS = {
  NARROW_KEY: 'gw-narrow-narrow-narrow',
  EXACT_KEY: 'gw-exact-exact-exact',
  EU_KEY: 'gw-eu-eu-eu-eu-eu-eu-eu',
}
const FILE = `version: 1
store: { type: memory }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  narrow: { secret: { env: NARROW_KEY }, models: [text], routes: ["POST /v1/chat/completions", "GET /v1/models"] }
  exact: { secret: { env: EXACT_KEY }, models: ["other-*"], strict: true }
  regional: { secret: { env: EU_KEY }, models: ["*"], regions: [eu] }
upstreams:
  chat: { kind: simulator-chat, region: eu }
  messages: { kind: simulator-messages, traits: { max_output: 4096 } }
  all: { kind: simulator }
  absent: { kind: openai, secret: { env: ABSENT_KEY } }
models:
  text: { upstream: chat, as: sim-text }
  translated: { upstream: messages, as: sim-messages }
  embed: { upstream: all, as: sim-embed }
  "other-*": { upstream: messages, as: sim-messages }
  nowhere: absent
`

interface Operation {
  readonly operationId: string
  readonly description?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly enum?: readonly string[] }>> }
}

/** What is wrong with a document by the OpenAPI 3.1 schema, with references that lead nowhere. */
async function faultsOf(document: Document): Promise<unknown> {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone(document) as object as Record<string, unknown>)
  if (!valid) return errors
  validator.resolveRefs()
  return []
}

const checkers = new Map<Document, Ajv2020>()

/** Whether a body of `POST path` fits. */
function fits(document: Document, path: string, body: object): boolean {
  const ajv =
    checkers.get(document) ?? new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document')
  checkers.set(document, ajv)
  const pointer = ['paths', path, 'post', 'requestBody', 'content', 'application/json', 'schema']
  const escaped = pointer.map(name => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')))
  const check = ajv.getSchema(`document#/${escaped.join('/')}`)
  if (check === undefined) throw new Error(`${path} has no schema`)
  return check(body) === true
}

t.test('GET /v1/openapi.json says what the presented key may do', async t => {
  const { origin, key, folder, gateway } = await startTestGateway(t, FILE, { env: KEYS })
  const passport = async (secret: string): Promise<Document> => {
    const answer = await fetch(`${origin}/v1/openapi.json`, { headers: { authorization: `Bearer ${secret}` } })
    t.equal(answer.status, 200)
    return (await answer.json()) as Document
  }
  const all = await passport(key)
  const narrow = await passport(KEYS.NARROW_KEY)
  const exact = await passport(KEYS.EXACT_KEY)
  const chat = all.paths['/v1/chat/completions']?.post
  const CHAT = '/v1/chat/completions'
  const message = { role: 'user', content: 'hello' }

  await t.test('each is a valid document without unresolved references, and equal operation ids', async t => {
    for (const document of [all, narrow, exact]) {
      t.strictSame(await faultsOf(document), [])
      const ids = Object.values(document.paths).flatMap(path =>
        Object.values(path).map(({ operationId }) => operationId),
      )
      t.equal(new Set(ids).size, ids.length)
    }
    t.not(
      (await new Validator().validate({ ...all, paths: { x: 1 } } as object as Record<string, unknown>)).valid,
      true,
      'the validator can fail',
    )
  })

  await t.test('definitions are components of their own: generators of clients take `$defs` for a member', async t => {
    t.notMatch(JSON.stringify(all), '"$defs"')
    t.match(Object.keys(all.components.schemas).join(' '), /\bchat\.request\.\w/)
  })

  await t.test('request schemas are those of the gateway, with its models as enums', async t => {
    t.ok(fits(all, CHAT, { model: 'text', messages: [message] }))
    t.ok(fits(all, CHAT, { model: 'other-one', messages: [message] }), 'a glob')
    t.notOk(fits(all, CHAT, { model: 'none', messages: [message] }))
    t.notOk(fits(all, CHAT, { model: 'text', messages: 'hello' }))
    t.notOk(fits(all, CHAT, { model: 'nowhere', messages: [message] }), 'its upstream is off')
    t.notOk(fits(narrow, CHAT, { model: 'translated', messages: [message] }))
    t.ok(fits(all, '/v1/moderations', { model: 'embed', input: 'x' }))
    t.notOk(fits(all, '/v1/moderations', { input: 'x' }), 'the route has no default model')
    for (const [path, { post }] of Object.entries(all.paths)) {
      if (post?.requestBody?.content['application/json'] !== undefined) t.doesNotThrow(() => fits(all, path, {}), path)
    }
  })

  await t.test('descriptions say what translation leaves out, or refuses for strict keys', async t => {
    t.match(chat?.description, /Translated to `messages` for `translated`, `other-\*`\. Left out: .*`seed`/)
    t.notMatch(narrow.paths['/v1/chat/completions']?.post?.description, /Translated/)
    const own = exact.paths['/v1/chat/completions']?.post
    t.match(own?.description, /Refused: .*`seed`/)
    t.notMatch(own?.description, /Left out/)
  })

  await t.test('a key with few routes has these alone, and what is not there is refused', async t => {
    t.strictSame(Object.keys(narrow.paths).sort(), [
      '/v1/chat/completions',
      '/v1/models',
      '/v1/openapi.json',
      '/v1/usage',
    ])
    t.notOk(exact.paths['/v1/moderations'], 'no model of this key is served there')
    t.ok(all.paths['/v1/moderations'])
    const refused = await fetch(`${origin}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS.NARROW_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'text', input: 'x' }),
    })
    t.equal(refused.status, 403)
    await refused.body?.cancel()
  })

  await t.test('a key that is bound to a region has the models there', async t => {
    const document = await passport(KEYS.EU_KEY)
    t.ok(fits(document, CHAT, { model: 'text', messages: [message] }))
    t.notOk(fits(document, CHAT, { model: 'translated', messages: [message] }))
  })

  await t.test('every GET without parameters that is listed is answered', async t => {
    const plain = Object.entries(all.paths).filter(([path, { get }]) => get !== undefined && !path.includes('{'))
    t.ok(plain.length > 4)
    for (const [path, { get }] of plain) {
      if (Object.hasOwn((get as { responses?: object } | undefined)?.responses ?? {}, '101')) continue
      const answer = await fetch(origin + path, { headers: { authorization: `Bearer ${key}`, 'x-goog-api-key': key } })
      t.ok(answer.status < 400, `${path}: ${answer.status}`)
      await answer.body?.cancel()
    }
  })

  await t.test('gateway openapi prints the same document', async t => {
    const file = join(folder, 'gateway.yaml')
    const env = { ...KEYS, CALLER_KEY: key, ABSENT_KEY: '' }
    const { code, stdout, stderr } = await command(['openapi', file, '--key', 'narrow'], { env })
    t.equal(code, 0, stderr)
    const printed = JSON.parse(stdout) as Document & { info: object }
    t.strictSame(printed.paths, narrow.paths)
    t.strictSame(printed.components, narrow.components)
    t.match(await command(['openapi', file, '--key', 'narow'], { env }), { code: 2, stderr: /did you mean narrow\?/ })
  })

  t.equal((await fetch(`${origin}/v1/openapi.json`)).status, 401)
  t.ok(gateway.origin)
})
