import t from 'tap'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { request } from '../helpers/raw-client.js'
import { type ConsoleTest, needsBrowser, openConsole, scrollsSideways } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

const VIEWS = {
  overview: ['/', 'Requests per second'],
  split: ['/?by=model&of=cost&range=1h', 'Cost, USD per hour'],
  requests: ['/requests', 'New requests come in at the top.'],
  failed: ['/requests?status=4xx', 'status: 4xx'],
  play: ['/play?model=sim-text', 'Tools, structured output, files and reasoning'],
  protocols: ['/play?model=sim-text&view=protocols', 'translated to chat'],
  models: ['/play?model=sim-text&view=models', 'And, with commas between'],
  embeddings: ['/play?operation=embeddings', 'POST /v1/embeddings'],
  plan: ['/plan', 'Keys, models, upstreams'],
  focus: ['/plan?focus=model:sim-text', 'Explain a request for it'],
  explain: ['/plan?view=explain', 'What becomes of it'],
  file: ['/plan?view=file', 'What this draft would do'],
  generations: ['/plan?view=generations', 'Only one plan has served since the start.'],
  model: ['/models?name=sim-text', 'Over time, model sim-text'],
  keys: ['/keys', 'Near their bound'],
  key: ['/keys?name=guest', 'Change the limits of guest'],
  group: ['/keys?group=research&range=7d', 'Used and left, group research'],
  upstreams: ['/upstreams?name=sim-chat', 'Over time, upstream sim-chat'],
  faults: ['/faults', 'No fault is on.'],
  tasks: ['/tasks', 'There are no tasks.'],
  files: ['/files?key=guest', 'guest has no files.'],
} as const

/** Some of everything, so that no view is empty. */
async function use({ gateway }: ConsoleTest): Promise<string> {
  const messages = [{ role: 'user', content: 'Hello there' }]
  for (let n = 0; n < 6; n++) await gateway.chat({ model: 'sim-text', messages, stream: n % 2 === 0 })
  await gateway.chat({ model: 'sim-messages', messages, seed: 7, logit_bias: { 1: 1 } })
  await gateway.chat({ model: 'sim-text?status=500', messages })
  await gateway.chat({ model: 'no-such-model', messages })
  for (let n = 0; n < 4; n++)
    await gateway.chat({ model: 'sim-text', messages }, { key: 'the-key-of-the-guest-0123456789' })
  const answer = await gateway.chat({ model: 'sim-messages', messages })
  return String(answer.header('x-request-id'))
}

t.test('nothing is shown before the admin key, and a wrong one is refused', async t => {
  const test = await openConsole(t)
  const { page, admin } = test
  await test.open('/requests')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same(await test.axe(), [], 'axe finds nothing on it')
  await test.picture('sign-in-light')
  await page.getByLabel('Admin key').fill('a wrong key')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('this is not the admin key').waitFor()
  for (const path of ['/admin/live', '/admin/requests', '/admin/plan', '/admin/session'])
    t.equal((await page.request.get(`${admin}${path}`)).status(), 401, path)
  await page.getByLabel('Admin key').fill(ADMIN_SECRET)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Requests' }).waitFor()
  t.match(page.url(), /\/requests$/, 'the page that was asked for')
  const [cookie] = await page.context().cookies()
  t.match(cookie, { httpOnly: true, sameSite: 'Strict' })
  t.equal(await page.evaluate('document.cookie'), '', 'no script can read it')
})

t.test('a link opens a session once', async t => {
  const test = await openConsole(t)
  const { page, admin } = test
  const made = await request(t, admin, '/admin/session/link', { method: 'POST', key: ADMIN_SECRET })
  const { path } = JSON.parse(made.text) as { readonly path: string }
  await test.open(path)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  t.notMatch(page.url(), 'code', 'the code is not in the address any more')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.goto('about:blank')
  await test.open(path)
  await page.getByText('the link has been used').waitFor()
})

t.test('why a link opens no session is said wherever it is opened', async t => {
  const test = await openConsole(t)
  const { page, admin } = test
  const made = await request(t, admin, '/admin/session/link', { method: 'POST', key: ADMIN_SECRET })
  const { path } = JSON.parse(made.text) as { readonly path: string }
  await page.request.post(`${admin}/admin/session`, {
    headers: { 'x-console': '1', origin: admin },
    data: { code: new URLSearchParams(path.split('#')[1]).get('code') },
  })
  await page.context().clearCookies()
  await page.goto(admin)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await test.open(path)
  await page.getByText('the link has been used').waitFor()
  await page.getByLabel('Admin key').fill(ADMIN_SECRET)
  await page.getByLabel(/^Look only/).check()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Looks only').waitFor()
  t.equal(await page.getByText('the link has been used').count(), 0)
  await test.open(path)
  await page.getByRole('alert').getByText('the link has been used').waitFor()
  await page.getByText('Looks only').waitFor()
  await page.getByRole('link', { name: 'Requests' }).first().click()
  await page.getByText('the link has been used').waitFor({ state: 'detached' })

  const away = (): Promise<unknown> => page.waitForEvent('requestfailed', one => one.url() === `${admin}/admin/session`)
  await page.route('**/admin/session', route => route.abort())
  const asked: string[] = []
  page.on('request', one => asked.push(new URL(one.url()).pathname))
  await page.evaluate("location.hash = 'elsewhere'")
  const failed = away()
  await page.evaluate("location.hash = 'code=another'")
  await failed
  await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
  await page.getByText('Looks only').waitFor()
  t.equal(asked.filter(one => one === '/admin/session').length, 2, 'for the code alone')
})

t.test('a link counts also beside a session that only looks', async t => {
  const test = await openConsole(t)
  const { page, admin } = test
  await page.goto(admin)
  await page.getByLabel('Admin key').fill(ADMIN_SECRET)
  await page.getByLabel(/^Look only/).check()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Looks only').waitFor()
  for (const leave of [() => page.goto('about:blank'), async () => undefined]) {
    const made = await request(t, admin, '/admin/session/link', { method: 'POST', key: ADMIN_SECRET })
    await leave()
    await test.open((JSON.parse(made.text) as { readonly path: string }).path)
    await page.getByText('May change').waitFor()
    await page.waitForURL(`${admin}/`)
  }
})

t.test('the first page is small, and its policy allows no script and no style that is written into it', async t => {
  const test = await openConsole(t)
  const { page } = test
  let bytes = 0
  page.on('response', async response => {
    const size = await response
      .request()
      .sizes()
      .catch(() => undefined)
    bytes += size?.responseBodySize ?? 0
  })
  await test.signIn()
  await page.getByRole('heading', { name: 'Requests per second' }).waitFor()
  const painted = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
  console.log(`# MEASURED: the console: ${bytes} bytes, first paint after ${Math.round(Number(painted))} ms`)
  t.ok(bytes > 20_000 && bytes < 250 * 1024, `${bytes} bytes`)
  const policy = (await page.request.get(test.admin, { headers: { accept: 'text/html' } })).headers()
  t.match(policy['content-security-policy'], /default-src 'none'; script-src 'self'; style-src 'self';/)
  t.notMatch(policy['content-security-policy'], /unsafe/)
  const isRun = await page.evaluate(`
    const script = document.createElement('script')
    script.textContent = 'globalThis.isRun = true'
    document.head.append(script)
    globalThis.isRun === true`)
  t.equal(isRun, false)
})

t.test('a session changes nothing for another page, and a viewer nothing at all', async t => {
  const test = await openConsole(t)
  const { page, admin } = test
  await test.signIn()
  const ask = (method: string, path: string, headers: Record<string, string>) =>
    page.request.fetch(`${admin}${path}`, { method, headers, data: { name: 'another', models: ['*'] } })
  t.equal((await ask('POST', '/admin/keys', {})).status(), 403, 'without the header')
  const other = { 'x-console': '1', origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }
  t.equal((await ask('POST', '/admin/keys', other)).status(), 403, 'from another origin')
  t.equal((await ask('POST', '/admin/keys', { 'x-console': '1', origin: admin })).status(), 201, 'from our own')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin key').fill(ADMIN_SECRET)
  await page.getByLabel('Look only').check()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Looks only').waitFor()
  t.equal((await ask('DELETE', '/admin/keys/another', { 'x-console': '1', origin: admin })).status(), 403)
  t.equal((await page.request.get(`${admin}/admin/keys`)).status(), 200)
})

t.test('the overview and the list show requests as they are made', async t => {
  const test = await openConsole(t)
  const { page, gateway } = test
  await test.signIn()
  await page.getByText('No requests in the last 15m.').waitFor()
  const id = await use(test)
  await page.getByText(/of 14 requests failed in the last 15m/).waitFor()
  await page.getByRole('link', { name: 'Requests', exact: true }).first().click()
  await page.locator(`a[href="/requests/${id}"]`).waitFor()
  const answer = await gateway.chat({ model: 'sim-text', messages: [{ role: 'user', content: 'live' }] })
  await page.locator(`a[href="/requests/${answer.header('x-request-id')}"]`).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  const later = await gateway.chat({ model: 'sim-text', messages: [{ role: 'user', content: 'later' }] })
  await page.getByText('Paused · 1 new').waitFor()
  t.equal(await page.locator(`a[href="/requests/${later.header('x-request-id')}"]`).count(), 0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator(`a[href="/requests/${later.header('x-request-id')}"]`).click()
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.getByRole('img', { name: /Attempt at sim-chat/ }).waitFor()
  await test.open('/requests?key=guest&status=429')
  await page.locator('tbody tr').first().waitFor()
  t.equal(await page.locator('tbody tr').count(), 1, 'only the one that its limit refused')
  t.same(test.said, [], 'the browser has nothing to say')
})

t.test('the palette finds pages, models, and a request by its id, from the keyboard', async t => {
  const test = await openConsole(t)
  const { page } = test
  await test.signIn()
  const id = await use(test)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or run' }).fill('try sim-text')
  await page
    .getByRole('option', { name: /Try sim-text/ })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/play\?model=sim-text/)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or run' }).fill(id)
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`/requests/${id}`))
})

t.test('the playground streams an answer by each of the five protocols', async t => {
  const test = await openConsole(t)
  const { page, gateway } = test
  await test.signIn()
  await test.open('/play?model=sim-text&view=protocols')
  await page.getByText('translated to chat').first().waitFor()
  await page.getByRole('button', { name: /Run 5 requests/ }).click()
  for (const name of ['chat', 'responses', 'messages', 'generate', 'converse'])
    await page.locator(`[data-answer="${name}"]`, { hasText: /\w/ }).waitFor()
  await page
    .getByText(/all \d+/)
    .nth(4)
    .waitFor()
  const streamed = await gateway.log.count(
    5,
    line => line.msg === 'request' && line.key === 'caller' && line.stream === true,
  )
  t.equal(streamed.length, 5)
  await test.picture('play-answered')
  t.same(test.said, [])
})

t.test('the playground shows likeness, rankings, pictures, sounds and videos', async t => {
  const test = await openConsole(t)
  const { page } = test
  await test.signIn()
  const run = async (operation: string): Promise<void> => {
    await test.open(`/play?operation=${operation}`)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
  }
  await run('embeddings')
  await page.getByText(/Likeness/).waitFor()
  await test.picture('play-embeddings')
  await run('rerank')
  await page
    .getByText(/^0\.\d{3}$/)
    .first()
    .waitFor()
  await run('moderation')
  await page.getByText('Not flagged').waitFor()
  await run('image')
  await page.locator('img.made').waitFor()
  await run('speech')
  await page.locator('audio').waitFor()
  await run('video')
  await page.locator('video').waitFor()
  await test.open('/play?operation=transcription')
  await page.getByLabel('File').setInputFiles({ name: 'a.wav', mimeType: 'audio/wav', buffer: wave() })
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.locator('p.answer').waitFor()
  t.same(test.said, [])
})

/** A tenth of a second of silence. */
function wave(): Buffer {
  const head = Buffer.from(
    'RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data',
    'latin1',
  )
  const size = Buffer.alloc(4)
  size.writeUInt32LE(1600)
  head.writeUInt32LE(1636, 4)
  return Buffer.concat([head, size, Buffer.alloc(1600)])
}

t.test('a draft of the file is checked as one types, and says what it would change', async t => {
  const test = await openConsole(t)
  const { page } = test
  await test.signIn()
  await test.open('/plan?view=file')
  await page.getByText('Nothing would change.').waitFor()
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('default_models: { moderations: nowhere }\n')
  await page.getByText('1 problem in it.').waitFor()
  t.match(await page.locator('.problem').innerText(), /^\d+:\d+\s+.*nowhere/s)
  await test.picture('file-problem')
})

t.test('a key is made with its secret shown once, and revoked', async t => {
  const test = await openConsole(t)
  const { page, gateway } = test
  await test.signIn()
  await test.open('/keys')
  await page.getByLabel('Name').fill('made-here')
  await page.getByRole('button', { name: 'Create' }).click()
  const secret = await page.locator('pre').innerText()
  const messages = [{ role: 'user', content: 'x' }]
  t.equal((await gateway.chat({ model: 'sim-text', messages }, { key: secret })).status, 200)
  await page.getByRole('button', { name: 'I have it' }).click()
  t.notMatch(await page.content(), secret)
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByLabel(/This cannot be undone/).fill('made-here')
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('link', { name: 'made-here' }).waitFor({ state: 'detached' })
  t.equal((await gateway.chat({ model: 'sim-text', messages }, { key: secret })).status, 401)
})

// Colours are the same at every width, and places in every theme.
for (const [theme, width] of [
  ['light', 360],
  ['dark', 1440],
] as const) {
  t.test(`each view is an address, and axe finds nothing on it, ${theme}, at ${width} pixels`, async t => {
    const test = await openConsole(t)
    const { page } = test
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    await test.signIn()
    const id = await use(test)
    const views = { ...VIEWS, request: [`/requests/${id}`, 'Secrets are masked'] as const }
    await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
    for (const [name, [path, words]] of Object.entries(views)) {
      await test.open(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('load')
      // The address alone says what is shown.
      await page.getByText(words).and(page.locator(':visible')).first().waitFor()
      t.same(await test.axe(), [], `${name} ${width}`)
      t.equal(await scrollsSideways(page), false, `${name} ${width}: no sideways scroll`)
      await test.picture(`${name}-${theme}-${width}`)
    }
    t.same(test.said, [], 'the browser has nothing to say')
  })
}
