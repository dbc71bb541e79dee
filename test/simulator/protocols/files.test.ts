import { BadRequestError, toFile } from 'openai'
import t, { type Test } from 'tap'
import { sdk, simulator } from '../support.js'

/** Files and batches of the compatible interface, asked by its library. */

const file = (text: string) => toFile(Buffer.from(text), 'notes.txt', { type: 'text/plain' })

async function refused(t: Test, asked: Promise<unknown>, param: string, code: string): Promise<void> {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof BadRequestError)) throw error ?? new Error(`${param} was taken`)
  t.match(error, { param, code }, error.message)
}

t.test('a file comes back, and expires as requested', async t => {
  const { files } = sdk(await simulator(t))
  const plain = await files.create({ file: await file('hello'), purpose: 'user_data' })
  t.match(plain, { bytes: 5, filename: 'notes.txt', purpose: 'user_data', expires_at: null })
  t.equal(await (await files.content(plain.id)).text(), 'hello')
  const before = Math.floor(Date.now() / 1000)
  const ending = await files.create({
    file: await file('hello'),
    purpose: 'user_data',
    expires_after: { anchor: 'created_at', seconds: 7200 },
  })
  t.ok((ending.expires_at ?? 0) >= before + 7200)
  t.same(await files.retrieve(ending.id), ending)
})

t.test('refused: an empty file, unknown purposes, and impossible expiries', async t => {
  const { files } = sdk(await simulator(t))
  const purpose = 'user_data'
  const ending = (anchor: string, seconds: number) =>
    ({ purpose, expires_after: { anchor: anchor as 'created_at', seconds } }) as const
  await refused(t, files.create({ file: await file(''), purpose }), 'file', 'invalid_value')
  await refused(t, files.create({ file: await file('a'), purpose: 'fun' as 'evals' }), 'purpose', 'invalid_value')
  const anchor = files.create({ file: await file('a'), ...ending('now', 7200) })
  await refused(t, anchor, 'expires_after[anchor]', 'invalid_value')
  for (const seconds of [5, 3600.5, 2_592_001]) {
    const asked = files.create({ file: await file('a'), ...ending('created_at', seconds) })
    await refused(t, asked, 'expires_after[seconds]', 'invalid_value')
  }
})

t.test('refused: batches for no endpoint, or one that takes none, and other windows', async t => {
  const { files, batches } = sdk(await simulator(t))
  const { id: input_file_id } = await files.create({ file: await file('{}'), purpose: 'batch' })
  const whole = { input_file_id, endpoint: '/v1/responses', completion_window: '24h' } as const
  const { endpoint: _, ...without } = whole
  await refused(t, batches.create(without as typeof whole), 'endpoint', 'missing_required_parameter')
  await refused(t, batches.create({ ...whole, endpoint: '/v1/files' as '/v1/videos' }), 'endpoint', 'invalid_value')
  await refused(t, batches.create({ ...whole, completion_window: '1h' as '24h' }), 'completion_window', 'invalid_value')
  t.match(await batches.create(whole), { endpoint: '/v1/responses', status: 'validating' })
})
