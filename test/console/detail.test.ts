import t from 'tap'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { request } from '../helpers/raw-client.js'
import { needsBrowser, openConsole } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

const RECORDED = 'the-key-of-the-recorded-0123456789'
const messages = [{ role: 'user', content: 'A word that only I know: gooseberry' }]

t.test(
  'a request shows its headers without secrets, each field of its translation, and content where its key captures it',
  async t => {
    const test = await openConsole(t, {
      yaml: `receipts: { to: ${t.testdir()}, key: { env: RECEIPTS_KEY } }\n`,
      key: '  recorded: { secret: { env: RECORDED_KEY }, models: ["*"], capture: {} }\n',
      env: { RECORDED_KEY: RECORDED, RECEIPTS_KEY: 'the-key-of-the-receipts-0123456789abcdef' },
    })
    const { page, gateway, admin } = test
    const body = { model: 'sim-messages', messages, seed: 7, logit_bias: { 1: 1 }, max_tokens: 20 }
    const made = await gateway.request('/v1/chat/completions', {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${RECORDED}`, cookie: 'session=crumbs', 'x-tenant': 'green' },
    })
    t.equal(made.status, 200, made.text)
    const other = await gateway.chat({ model: 'sim-text', messages })
    const [id, plain] = [made, other].map(one => String(one.header('x-request-id')))
    await test.signIn()
    await test.open(`/requests/${id}`)
    const headers = page.getByRole('region', { name: 'From the client' })
    await headers.getByText('x-tenant').waitFor()
    t.match(
      await headers.innerText(),
      /authorization\s+\[secret\][\s\S]*cookie\s+\[secret\]|cookie\s+\[secret\][\s\S]*authorization\s+\[secret\]/,
    )
    await page.getByRole('region', { name: 'To the upstream' }).getByText('content-type').waitFor()
    await page.getByRole('region', { name: 'To the client' }).getByText('x-gateway-dropped').waitFor()
    const fields = page.getByRole('region', { name: 'Translation' })
    for (const name of ['seed', 'logit_bias'])
      await fields.getByRole('row', { name: new RegExp(`^${name} Dropped`) }).waitFor()
    await fields.getByRole('row', { name: /^max_tokens Carried/ }).waitFor()
    await page.getByRole('region', { name: 'Body of the request' }).getByText('gooseberry').waitFor()
    t.same(await test.axe(), [], 'axe finds nothing on it')
    t.notMatch(await page.content(), RECORDED)
    await test.open(`/requests/${plain}`)
    await page.getByText('Not captured for caller.').waitFor()
    t.notMatch(await page.content(), 'gooseberry')
    const list = await request(t, admin, '/admin/requests', { key: ADMIN_SECRET })
    t.notMatch(list.text, 'gooseberry', 'lists have no content')
    t.same(test.said, [])

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Admin key').fill(ADMIN_SECRET)
    await page.getByLabel('Look only').check()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Looks only').waitFor()
    await test.open(`/requests/${id}`)
    await page.getByText('This session may only look: content is shown to those who may change something.').waitFor()
    t.notMatch(await page.content(), 'gooseberry')
    await test.open('/keys')
    t.equal(await page.getByRole('button', { name: 'Create' }).isDisabled(), true)
    await page.getByText('This session may only look: sign in again to change something.').waitFor()
  },
)

t.test('figures are split by name, in each measure, and each view is an address', async t => {
  const test = await openConsole(t, { yaml: 'prices: { sim-text: { input: 100, output: 100 }, "*": free }\n' })
  const { page, gateway } = test
  for (let n = 0; n < 3; n++) await gateway.chat({ model: 'sim-text', messages })
  await gateway.chat({ model: 'sim-messages', messages })
  await gateway.chat({ model: 'sim-text?status=500', messages })
  await gateway.chat({ model: 'no-such-model', messages })
  await test.signIn()
  await test.open('/?by=model&of=cost&range=1h')
  await page.getByRole('heading', { name: 'Cost, USD per hour' }).waitFor()
  const plot = page.getByRole('region', { name: 'Cost, USD per hour' })
  for (const name of ['sim-text', 'sim-messages']) await plot.getByText(name, { exact: true }).waitFor()
  await plot
    .getByText(/^not counted before/)
    .first()
    .waitFor()
  await page.getByRole('group', { name: 'Split by' }).getByRole('button', { name: 'upstream' }).click()
  await page.waitForURL(/by=upstream/)
  await plot.getByText('sim-chat', { exact: true }).waitFor()
  await plot.getByRole('button', { name: 'Data table' }).first().click()
  await plot.getByRole('columnheader', { name: 'sim-chat' }).waitFor()
  const causes = page.getByRole('region', { name: 'Errors by cause' })
  await causes.getByRole('row', { name: /^model_not_found 1$/ }).waitFor()
  await page.getByText(/USD\/h now/).waitFor()

  await test.open('/upstreams?name=sim-chat&range=1h')
  await page.getByRole('heading', { name: /^\d+ attempts, [1-9]\d* failed, .* in 1h$/ }).waitFor()
  await page.getByRole('img', { name: /^Time of an attempt to its first content/ }).waitFor()
  await test.open('/models?name=sim-text&range=30d')
  await page.getByRole('heading', { name: /^3 requests, 0 failed, .* in 30d$/ }).waitFor()
  await page.getByRole('row', { name: /^2 sim Ready/ }).waitFor()
  t.same(await test.axe(), [], 'axe finds nothing on a model')
  await test.open('/plan?focus=model:shared')
  for (const share of ['75 %', '25 %']) await page.getByText(share, { exact: true }).waitFor()
  await page.getByRole('link', { name: 'The model, over time' }).click()
  await page.getByRole('row', { name: /^1 sim-chat Ready sim-text 75/ }).waitFor()
  await test.open('/keys?name=guest')
  await page.getByRole('heading', { name: 'Change the limits of guest' }).waitFor()
  await page.getByRole('textbox', { name: 'Budget' }).first().fill('9 USD/day')
  await page.getByText('limits: { budget: 9 USD/day, requests: 3/hour }').waitFor()
  t.same(test.said, [])
})
