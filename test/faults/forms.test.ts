import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MultipartForm } from '../../src/wire/multipart-form.js'
import type { MultipartRule } from '../../src/wire/multipart-problems.js'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, noise, sending, untilHeld } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { fc } from '../helpers/property.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { bytesOf, CASES } from '../wire/multipart-cases.js'
import { read } from '../wire/multipart-reading.js'

const PATH = '/v1/forms'
/** Those of the route; the kernel sets the bounds of heads. */
const LIMITS = { parts: 20, head: 16 * 1024, headers: 32, field: 1000, fields: 3000 }

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  readonly folder: string
  send(body: Uint8Array, cuts?: readonly number[]): Promise<Answer>
}

/** A route of the user's own that takes any form; every model is called `to-NAME` by its upstream. */
async function stage(t: Test): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ ok: true }))
  const up = upstreamYaml(upstream.origin).replace('speaks: {', 'speaks: { own.form: POST /forms,')
  const { parts, field, fields } = LIMITS
  const yaml = `version: 1
${CALLER}
upstreams: { up: ${up} }
models: { "*": { upstream: up, as: "to-*" } }
spool: { body: 64B }
routes:
  POST ${PATH}:
    { protocol: own.form, model: form.model, stream: form.stream, limits: { parts: ${parts}, field: ${field}, fields: ${fields} } }
`
  const gateway = await startTestGateway(t, yaml)
  const send: Stage['send'] = (body, cuts = []) => gateway.request(PATH, { ...sending(body), cuts })
  return { gateway, upstream, folder: join(gateway.folder, 'data', 'spool'), send }
}

/** What the form says where it is sound; else the rule that it breaks. */
function readingOf(body: Uint8Array): MultipartForm | MultipartRule {
  const form = new MultipartForm('B', { control: ['model', 'stream'], limits: LIMITS })
  return read(form, [body]).error?.rule ?? form
}

/** The parts of a form: heads and contents, byte for byte. */
function partsOf(form: MultipartForm, body: Buffer): readonly string[] {
  return [...form.fields, ...form.files].map(({ name, head, start, end }) =>
    JSON.stringify([name, head.headers.map(one => [one.name, one.value]), body.toString('latin1', start, end)]),
  )
}

const CODES: Partial<Record<MultipartRule, string>> = {
  duplicate: 'duplicate_parameter',
  variant: 'invalid_parameter',
  control: 'invalid_parameter',
}

/** What is wrong with how the gateway dealt with a body; nothing where it did right. */
async function complaint(
  { upstream, send }: Stage,
  body: Buffer,
  cuts?: readonly number[],
): Promise<string | undefined> {
  upstream.requests.items.length = 0
  const answer = await send(body, cuts)
  const [sent] = upstream.requests.items
  const form = readingOf(body)
  if (typeof form === 'string') {
    if (sent !== undefined) return `a form that breaks the rule ${form} was sent on`
    const code = answer.header('x-gateway-error')
    return answer.status === 400 && code === (CODES[form] ?? 'bad_request') ? undefined : `${answer.status} ${code}`
  }
  if (sent === undefined) {
    const model = form.field('model')?.value ?? ''
    const stream = form.field('stream')?.value ?? ''
    const isOdd = !/^[\x21-\x7e]{1,200}$/.test(model) || !/^(true|false|1|0|)$/i.test(stream)
    return answer.status < 500 && isOdd ? undefined : `a good form was refused: ${answer.status} ${answer.text}`
  }
  const arrived = readingOf(sent.body)
  if (typeof arrived === 'string') return `what arrived breaks the rule ${arrived}`
  const model = form.field('model')?.value
  if (arrived.field('model')?.value !== `to-${model}`) return `the model arrived as ${arrived.field('model')?.value}`
  const rest = (parts: readonly string[]): string => parts.filter(part => !part.startsWith('["model"')).join('\n')
  if (rest(partsOf(form, body)) !== rest(partsOf(arrived, sent.body))) return 'other parts arrived'
  if (sent.header('content-length') !== String(sent.body.length)) return 'the length is wrong'
  return answer.status === 200 ? undefined : `answered ${answer.status}`
}

t.test(
  `F-M1 ${CASES.length} bodies written by hand: each is sent on part for part, or refused for what it breaks`,
  async t => {
    const stand = await stage(t)
    for (const one of CASES) {
      const body = bytesOf(one)
      t.equal(await complaint(stand, body, [1, 7, 40, 41, 90]), undefined, one.name)
    }
    t.same(await untilHeld(stand.folder, false), [])
  },
)

t.test('F-M1 fuzz: mutated forms are sent on part for part, or refused', async t => {
  const stand = await stage(t)
  const seeds = CASES.filter(({ body, rule }) => body.length < 1000 && rule === undefined).map(bytesOf)
  const splices = [
    '',
    '\r',
    '\n',
    '\r\n',
    '--B',
    '--B--',
    '"',
    '\\',
    ';',
    ':',
    '\0',
    '\xff',
    'name="model"',
    '\r\n\r\n',
  ]
  const mutation = fc.record({ at: fc.nat(1000), cut: fc.nat(12), put: fc.constantFrom(...splices) })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...seeds),
      fc.array(mutation, { maxLength: 3 }),
      fc.nat(300),
      async (seed, all, at) => {
        let bytes = seed
        for (const { at, cut, put } of all) {
          const start = at % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(put, 'latin1'), bytes.subarray(start + cut)])
        }
        const wrong = await complaint(stand, bytes, [Math.min(at, bytes.length - 1)])
        if (wrong !== undefined) throw new Error(`${wrong}: ${JSON.stringify(bytes.toString('latin1'))}`)
      },
    ),
    { numRuns: 400 },
  )
  t.same(await untilHeld(stand.folder, false), [])
})

t.test('F-M1 ten thousand parts are refused at the first one too many', async t => {
  const { send, upstream, gateway } = await stage(t)
  const parts = Array.from({ length: 10_000 }, (_, at) => [`f${at}`, 'x'] as const)
  compatibleError(t, await send(formOf(['model', 'm'], ...parts)), 400)
  t.match(await gateway.log.find(line => line.msg === 'request'), { limit: 'parts' })
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C11 names that objects know are names of fields like others', async t => {
  const { send, upstream } = await stage(t)
  const form = formOf(['__proto__', '{"model":"evil"}'], ['constructor', 'x'], ['toString', 'y'], ['model', 'm'])
  t.equal((await send(form)).status, 200)
  t.match(upstream.requests.items[0]?.body.toString(), /to-m/)
  t.equal(({} as Record<string, unknown>).model, undefined)
})

t.test(
  'F-C13 F-C14 names of files and fields go nowhere but on: no path, no header, no log line is made of them',
  async t => {
    const { send, upstream, gateway } = await stage(t)
    const names = ['../../etc/passwd', '/abs', 'C:\\x', '%2e%2e%2f', 'a"; x=y', 'é\u202e.wav', 'con', '.'.repeat(300)]
    for (const name of names) {
      upstream.requests.items.length = 0
      const head = `--B\r\nContent-Disposition: form-data; name="file"; filename="${name.replace(/["\\]/g, '\\$&')}"\r\n\r\n`
      const form = Buffer.concat([Buffer.from(head), noise(500), formOf(['model', 'm'])]).toString('latin1')
      const whole = Buffer.from(form.replace('--B\r\nContent-Disposition: form-data; name="model"', '\r\n--B\r\nContent-Disposition: form-data; name="model"'), 'latin1') // biome-ignore format: one line
      t.equal((await send(whole)).status, 200, name)
      t.equal(upstream.requests.items[0]?.target, '/forms')
      t.equal(upstream.requests.items[0]?.body.toString('latin1').replace('to-m', 'm'), whole.toString('latin1'))
    }
    await gateway.log.count(names.length, line => line.msg === 'request')
    t.notMatch(JSON.stringify(gateway.log.items), /passwd|2e%2e/)
  },
)

t.test('F-C12 shapes that make parsers slow take no longer than others: a mebibyte of each', async t => {
  const { send } = await stage(t)
  const long = 1024 * 1024
  for (const [what, form] of [
    ['carriage returns', formOf(['file', Buffer.from('\r'.repeat(long)), 'a/b'], ['model', 'm'])],
    ['almost boundaries', formOf(['file', Buffer.from('\r\n--A'.repeat(long / 5)), 'a/b'], ['model', 'm'])],
    ['dashes', formOf(['file', Buffer.from('-'.repeat(long)), 'a/b'], ['model', 'm'])],
  ] as const)
    t.equal((await send(form)).status, 200, what)
  t.equal((await send(formOf(['x'.repeat(long), 'y'], ['model', 'm']))).status, 400, 'a name without end')
})

proveNoLeak(t)
