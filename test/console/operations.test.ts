import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { CLIENT, startIssuer } from '../helpers/issuer.js'
import { request } from '../helpers/raw-client.js'
import { type ConsoleTest, needsBrowser, openConsole, scrollsSideways } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

const GUEST = 'the-key-of-the-guest-0123456789'
const messages = [{ role: 'user', content: 'Hello there' }]

/** What axe finds on a view in both themes, and on a narrow screen. */
async function examined(t: Test, { page, ...test }: ConsoleTest, name: string): Promise<void> {
  const looks = [
    ['light', 360],
    ['dark', 1440],
  ] as const
  for (const [colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
    t.same(await test.axe(), [], `${name}, ${colorScheme}, ${width}`)
    t.equal(await scrollsSideways(page), false, `${name}, ${width}: no sideways scroll`)
    await test.picture(`${name}-${colorScheme}-${width}`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}

t.test('what people do beside looking', async t => {
  let issuer: Awaited<ReturnType<typeof startIssuer>> | undefined
  const test = await openConsole(t, {
    admin: async origin => {
      const people = { ada: { groups: ['ops'] }, eve: { groups: [] } }
      issuer = await startIssuer(t, {}, { redirect: `${origin}/admin/oidc/callback`, people })
      const client = `issuer: "${issuer.origin}", client_id: ${CLIENT.id}, client_secret: { env: CONSOLE_SECRET }`
      return `, oidc: { ${client}, allow: [127.0.0.1], role: { claim: groups, map: { ops: admin, staff: viewer } } }`
    },
    env: { CONSOLE_SECRET: CLIENT.secret },
  })
  const { page, gateway, admin, said } = test

  await t.test('they sign in at the issuer, and have the role of their claims', async t => {
    const enter = async (on: Page, name: string): Promise<void> => {
      await on.goto(admin)
      await on.getByRole('link', { name: /^Continue at/ }).click()
      await on.locator('input[name=login]').fill(name)
      await on.locator('input[name=password]').fill('any')
      await on.locator('[type=submit]').click()
      await on.locator('[type=submit]').click()
    }
    await page.goto(admin)
    await page.getByRole('link', { name: /^Continue at/ }).waitFor()
    await examined(t, test, 'sign-in-issuer')
    const context = await test.browser.newContext()
    const other = await context.newPage()
    await enter(other, 'eve')
    await other.getByText('You have signed in, and have no role here').waitFor()
    await context.close()
    await enter(page, 'ada')
    await page.getByText('May change').waitFor()
    await page.getByTitle('ada').waitFor()
    said.length = 0
    const ask = (query: string) => request(t, admin, `/admin/oidc/callback?${query}`, {})
    const foreign = await ask('code=stolen&state=made-up')
    t.equal(foreign.status, 302)
    t.equal(foreign.header('location'), '/#refused=person', 'a code that this browser has not asked for opens nothing')
    await gateway.log.find(({ msg, cause }) => /refused/.test(String(msg)) && /not begun/.test(String(cause)))
    await gateway.log.find(({ msg, name }) => msg === 'signed in to the console' && name === 'ada')
    t.notMatch(JSON.stringify(gateway.log.items), CLIENT.secret)
  })

  await t.test('they switch faults on, see that everywhere, and switch all off', async t => {
    const model = 'sim-text?tokens=3'
    await test.open('/faults')
    await page.getByText('No fault is on.').waitFor()
    await page.getByLabel('At the upstream').selectOption('sim-chat')
    await page.getByLabel('Server error, 500').check()
    await page.getByRole('button', { name: 'Switch on' }).click()
    await page.getByRole('button', { name: 'Switch off at sim-chat' }).waitFor()
    await examined(t, test, 'faults')
    t.equal((await gateway.chat({ model, messages })).status, 500)
    await test.open('/requests')
    await page.getByText('Simulated faults are on at sim-chat.').waitFor()
    await page.getByRole('link', { name: 'Faults' }).last().click()
    await page.getByRole('button', { name: 'All off' }).click()
    await page.getByText('No fault is on.').waitFor()
    t.equal((await gateway.chat({ model, messages })).status, 200)
  })

  await t.test('they make a test call', async t => {
    await test.open('/upstreams?name=sim-chat')
    await page.getByRole('button', { name: 'Test call' }).click()
    await page.getByText(/^Status 200 in/).waitFor()
    await page.getByText('GET /v1/models').waitFor()
    await examined(t, test, 'test-call')
  })

  await t.test('they see the use of a key as bars, and what is left', async t => {
    for (let n = 0; n < 2; n++) await gateway.chat({ model: 'sim-text', messages }, { key: GUEST })
    await test.open('/keys?name=guest&range=1h')
    await page.getByRole('heading', { name: 'Requests per hour: 2 of 3, 1 left' }).waitFor()
    await page.getByRole('group', { name: 'Range' }).getByRole('button', { name: '30d' }).click()
    await page.waitForURL(/range=30d/)
    await page.getByText(/^2 requests, .* in 30d$/).waitFor()
    await examined(t, test, 'key-use')
  })

  await t.test('they change a part of a picture', async t => {
    const made = await gateway.request('/v1/images/generations', {
      method: 'POST',
      body: { model: 'sim-image', prompt: 'A lighthouse', size: '256x256' },
    })
    const { data } = made.json() as { readonly data: readonly { readonly b64_json: string }[] }
    await test.open('/play?operation=edit')
    const buffer = Buffer.from(data[0]?.b64_json ?? '', 'base64')
    await page.getByLabel('File').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    const canvas = page.locator('.mask canvas')
    await page.getByRole('button', { name: 'Upper half' }).click()
    await page.getByRole('button', { name: 'No mask' }).click()
    const { x = 0, y = 0, width = 0, height = 0 } = (await canvas.boundingBox()) ?? {}
    await page.mouse.move(x + width * 0.4, y + height * 0.5)
    await page.mouse.down()
    await page.mouse.move(x + width * 0.6, y + height * 0.5, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('img', { name: 'A mask is drawn' }).waitFor()
    await examined(t, test, 'play-mask')
    const [sent] = await Promise.all([
      page.waitForRequest(/admin\/play/),
      page.getByRole('button', { name: 'Run', exact: true }).click(),
    ])
    await page.locator('section img.made').waitFor()
    const { form } = sent.postDataJSON() as {
      readonly form: readonly { readonly name: string; readonly data: string }[]
    }
    const mask = form.find(({ name }) => name === 'mask')?.data ?? ''
    // Alpha in the middle, where it is drawn, and at the upper edge, where it is not.
    const alphas = await page.evaluate(`(async () => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob('${mask}'), one => one.charCodeAt(0))]))
      const context = Object.assign(document.createElement('canvas'), { width: 256, height: 256 }).getContext('2d', { willReadFrequently: true })
      context.drawImage(image, 0, 0)
      return [image.width, ...[128, 4].map(row => context.getImageData(128, row, 1, 1).data[3])]
    })()`)
    t.same(alphas, [256, 0, 255])
  })

  await t.test('they see texts as a map', async t => {
    await test.open('/play?operation=embeddings')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    const points = page.locator('.map circle')
    await points.nth(4).waitFor()
    const places = await points.evaluateAll(all =>
      all.map(one => [Number(one.getAttribute('cx')), Number(one.getAttribute('cy'))] as const),
    )
    const apart = (one: number, other: number): number =>
      Math.hypot(
        (places[one]?.[0] ?? 0) - (places[other]?.[0] ?? 0),
        (places[one]?.[1] ?? 0) - (places[other]?.[1] ?? 0),
      )
    t.ok(apart(0, 1) < apart(0, 3), 'a cat is nearer to a kitten than to interest rates')
    t.ok(apart(3, 4) < apart(1, 4), 'interest rates are near a bank')
    await examined(t, test, 'play-map')
  })

  await t.test('they talk with a realtime model', async t => {
    await test.open('/play?operation=voice')
    await page.getByRole('button', { name: 'Start talking' }).click()
    await page.getByText(/^(Connected|Hears you)$/).waitFor()
    await page.getByText('input_audio_buffer.speech_started').waitFor({ state: 'attached' })
    await page.getByLabel('Or write').fill('Say hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.said li', { hasText: 'Model' }).first().waitFor()
    await page.getByText('response.output_audio.delta').first().waitFor({ state: 'attached' })
    await examined(t, test, 'play-voice')
    await page.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('Not connected').waitFor()
    const line = await gateway.log.find(({ msg, route }) => msg === 'request' && /realtime/.test(String(route)))
    t.match(line, { key: 'caller', model: 'sim-realtime' })
  })

  await t.test('other pages open no session of a model', async t => {
    const opened = await page.evaluate(
      address =>
        new Promise(resolve => {
          const socket = new WebSocket(address)
          socket.onopen = () => resolve('open')
          socket.onerror = () => resolve('refused')
        }),
      `${admin.replace('http', 'ws')}/admin/play/realtime?key=no-such-key&model=sim-realtime`,
    )
    t.equal(opened, 'refused', 'nor does an unknown key')
    const shake = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' }
    const key = { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
    const path = '/admin/play/realtime?key=caller&model=sim-realtime'
    const cookies = (await page.context().cookies(admin)).map(({ name, value }) => `${name}=${value}`).join('; ')
    const from = (origin: string, cookie: string) =>
      request(t, admin, path, { headers: { ...shake, ...key, origin, cookie } })
    t.equal((await from('http://127.0.0.1:1', cookies)).status, 403)
    t.equal((await from(admin, '')).status, 401)
    t.equal((await request(t, admin, path, {})).status, 401, 'without a handshake it is a request like any other')
  })
  t.same(
    said.filter(one => !/WebSocket/.test(one)),
    [],
    'the browser has nothing to say',
  )
})
