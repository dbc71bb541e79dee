import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { request } from '../helpers/raw-client.js'
import { needsBrowser, openConsole } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

const messages = [{ role: 'user', content: 'Hello there' }]

t.test('an edit goes live, a broken one does not, and one can go back', async t => {
  const test = await openConsole(t, { admin: ', write: true' })
  const { page, gateway } = test
  const file = join(gateway.folder, 'gateway.yaml')
  const before = readFileSync(file, 'utf8')
  await test.signIn()
  await test.open('/plan?view=file')
  const apply = page.getByRole('button', { name: 'Apply' })
  await page.getByText('The draft is the file.').waitFor()
  t.equal(await apply.isDisabled(), true)
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('modles: {')
  await page.getByText(/problems? in it\./).waitFor()
  t.equal(await apply.isDisabled(), true, 'a broken draft cannot be applied')
  for (let n = 0; n < 'modles: {}'.length; n++) await page.keyboard.press('Delete')
  for (let n = 0; n < 'modles: {'.length; n++) await page.keyboard.press('Backspace')
  await page.keyboard.type('log: { lev')
  await page.locator('.cm-completionLabel', { hasText: /^level$/ }).waitFor()
  // The list takes no key for some milliseconds after it opens, lest one meant something else.
  await page.locator('.cm-completionLabel', { hasText: /^level$/ }).click()
  await page.keyboard.type('war')
  await page.locator('.cm-completionLabel', { hasText: /^warn$/ }).click()
  await page.keyboard.type(' }')
  await page.getByText('It is valid.').waitFor()
  await page.getByRole('button', { name: 'Difference' }).click()
  await page.locator('.cm-changedLine').first().waitFor()
  t.same(await test.axe(), [], 'axe finds nothing on the difference')
  await apply.click()
  await page.getByText('Plan 2 serves.').waitFor()
  const written = readFileSync(file, 'utf8')
  t.match(written, /^log: \{ level: warn \}/m)
  t.ok(written.startsWith(before), 'the rest of the file is as it was')
  t.equal(gateway.gateway.health.generation, 2)
  await test.open('/plan?view=generations&generation=1')
  await page.getByRole('heading', { name: 'From the file to plan 1' }).waitFor()
  await page.locator('.cm-deletedChunk').first().waitFor()
  await page.getByRole('cell', { name: 'the console' }).waitFor()
  await page.getByRole('button', { name: 'Back to 1' }).click()
  await page.getByRole('cell', { name: '3', exact: true }).waitFor()
  t.equal(readFileSync(file, 'utf8'), before, 'byte for byte')
  t.same(test.said, [])
})

t.test('the way back to a generation writes the included files, too', async t => {
  const files = { 'more/a.yaml': 'models: { extra: sim }\n' }
  const test = await openConsole(t, { admin: ', write: true', yaml: 'include: [more/*.yaml]\n', files })
  const { page, gateway } = test
  const file = join(gateway.folder, 'more/a.yaml')
  writeFileSync(file, 'models: { other: sim }\n')
  await request(t, test.admin, '/admin/reload', { method: 'POST', key: ADMIN_SECRET })
  await test.signIn()
  await test.open('/plan?view=generations&generation=1')
  await page.getByText('Included: more/a.yaml').click()
  await page.locator('.cm-line', { hasText: 'extra: sim' }).waitFor()
  t.same(await test.axe(), [], 'axe finds nothing on the included files')
  const back = page.getByRole('button', { name: 'Back to 1' })
  t.match(await back.getAttribute('title'), /all files of the configuration/)
  await back.click()
  await page.getByRole('cell', { name: '3', exact: true }).waitFor()
  t.equal(readFileSync(file, 'utf8'), files['more/a.yaml'])
  writeFileSync(join(gateway.folder, 'more/b.yaml'), 'models: { later: sim }\n')
  await request(t, test.admin, '/admin/reload', { method: 'POST', key: ADMIN_SECRET })
  await page.getByRole('button', { name: 'Back to 1' }).click()
  await page.getByText(/more\/b\.yaml: not a file of generation 1/).waitFor()
})

t.test('the file explains its words, and a draft says what it means for callers before it goes live', async t => {
  const test = await openConsole(t)
  const { page } = test
  await test.signIn()
  await test.open('/plan?view=file')
  await page.getByText('Nothing would change.').waitFor()
  await page
    .locator('.cm-line', { hasText: /^groups:/ })
    .getByText('limits', { exact: true })
    .hover()
  await page.locator('.cm-word', { hasText: 'groups.research.limits' }).waitFor()
  await page.locator('.cm-line', { hasText: /^groups:/ }).click()
  await page.keyboard.press('End')
  for (let n = 0; n < ' USD/month } } }'.length; n++) await page.keyboard.press('ArrowLeft')
  for (let n = 0; n < '500'.length; n++) await page.keyboard.press('Backspace')
  // Letters are no shortcuts of the page here: "gr" would go to the requests.
  await page.keyboard.type('900')
  await page.keyboard.press('End')
  await page.keyboard.type(' # gr')
  await page
    .getByRole('listitem')
    .filter({ hasText: /WEAKER.*research.*900 USD/ })
    .waitFor()
  t.equal(await page.getByRole('button', { name: 'Apply' }).isDisabled(), true, 'the configuration allows no writes')
  t.same(await test.axe(), [], 'axe finds nothing on it')
  t.same(test.said, [])
})

t.test('the file is written only where it may be, from what it is, and with the lines that are not shown', async t => {
  const test = await openConsole(t, { admin: ', write: true' })
  const file = join(test.gateway.folder, 'gateway.yaml')
  const comment = '# secret: not-shown-1a2b3c4d5e6f\nupstreams:'
  writeFileSync(file, readFileSync(file, 'utf8').replace('upstreams:', comment))
  const ask = (method: string, path: string, body?: object) =>
    request(t, test.admin, path, { method, key: ADMIN_SECRET, ...(body === undefined ? {} : { body }) })
  await ask('POST', '/admin/reload')
  const shown = await ask('GET', '/admin/plan/file')
  t.notMatch(shown.text, 'not-shown-1a2b3c4d5e6f')
  const { text, digest } = JSON.parse(shown.text) as { readonly text: string; readonly digest: string }
  const draft = '# a comment at the end\n'
  const applied = await ask('POST', '/admin/plan/apply', { text: text + draft, digest })
  t.equal(applied.status, 200, applied.text)
  t.match(readFileSync(file, 'utf8'), 'secret: not-shown-1a2b3c4d5e6f', 'the line is still there')
  t.match(readFileSync(file, 'utf8'), draft)
  t.equal((await ask('POST', '/admin/plan/apply', { text, digest })).status, 409, 'the digest is that of another file')
  const { digest: now } = JSON.parse((await ask('GET', '/admin/plan/file')).text) as { readonly digest: string }
  const broken = await ask('POST', '/admin/plan/apply', { text: `${text}models: {`, digest: now })
  t.equal(broken.status, 422)
  t.notMatch(broken.text, 'not-shown-1a2b3c4d5e6f')
  t.equal((await ask('POST', '/admin/plan/apply', { generation: 99, digest: now })).status, 404)
  const other = await openConsole(t)
  const refused = await request(t, other.admin, '/admin/plan/apply', {
    method: 'POST',
    key: ADMIN_SECRET,
    body: { text: '', digest: '' },
  })
  t.equal(refused.status, 403)
  t.match(refused.text, /admin: \{ write: true \}/)
})

t.test('a new key fills its budget on the screen', async t => {
  const test = await openConsole(t, { yaml: 'prices: { sim-text: { input: 100, output: 100 }, "*": free }\n' })
  const { page, gateway } = test
  await test.signIn()
  await test.open('/keys')
  await page.getByLabel('Name').fill('spender')
  await page.getByRole('textbox', { name: 'Budget' }).fill('0.05 USD/day')
  await page.getByRole('button', { name: 'Create' }).click()
  const secret = await page.locator('pre').innerText()
  await page.getByRole('button', { name: 'I have it' }).click()
  const ask = () => gateway.chat({ model: 'sim-text', messages, max_tokens: 20 }, { key: secret })
  t.equal((await ask()).status, 200)
  let last = 200
  for (let n = 0; n < 40 && last === 200; n++) last = (await ask()).status
  t.equal(last, 429)
  await test.open('/keys?name=spender')
  await page
    .getByRole('img', { name: /^[1-9]\d* percent of spender, budget, used/ })
    .first()
    .waitFor()
  await page
    .getByText(/of 0\.0500 USD/)
    .first()
    .waitFor()
})

t.test('a breaker opens and closes on the screen', async t => {
  const test = await openConsole(t, {
    yaml: 'retry: { attempts: 1 }\nhealth: { failures: 2, cooldown: 3s, max_cooldown: 3s }\n',
  })
  const { page, gateway } = test
  await test.signIn()
  await test.open('/upstreams?name=sim-chat')
  await page.getByText('No traffic').first().waitFor()
  const model = 'sim-text?status=500&times=2'
  for (let n = 0; n < 2; n++) await gateway.chat({ model, messages })
  await page
    .getByText(/cut off/i)
    .first()
    .waitFor()
  await page.getByText(/tried again at/).waitFor()
  t.same(await test.axe(), [])
  let status = 0
  for (let n = 0; n < 50 && status !== 200; n++) status = (await gateway.chat({ model, messages })).status
  t.equal(status, 200, 'it answers again')
  await page.getByText(/tried again at/).waitFor({ state: 'detached' })
})

t.test('a video is followed, shown and removed; a file is listed and deleted', async t => {
  const test = await openConsole(t)
  const { page, gateway } = test
  await test.signIn()
  const made = await gateway.request('/v1/videos', {
    method: 'POST',
    body: { model: 'sim-video?polls=0', prompt: 'Waves' },
  })
  t.equal(made.status, 200, made.text)
  await test.open('/tasks')
  await page.locator('tbody a').first().click()
  await page.locator('video.preview').waitFor()
  t.same(await test.axe(), [], 'axe finds nothing on a task')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('There are no tasks.').waitFor()
  const slow = await gateway.request('/v1/videos', {
    method: 'POST',
    body: { model: 'sim-video?polls=1000', prompt: 'Waves' },
  })
  t.equal(slow.status, 200, slow.text)
  await page.locator('tbody a').first().click()
  await page
    .getByRole('img', { name: /percent done/ })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('There are no tasks.').waitFor()
  const drawn = await gateway.request('/mj/submit/imagine', {
    method: 'POST',
    body: { botType: 'sim-imagine?polls=0', prompt: 'A lighthouse' },
  })
  t.equal(drawn.status, 200, drawn.text)
  await page.locator('tbody a').first().click()
  await page.locator('img.preview').waitFor()
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob(['{}\n']), 'lines.jsonl')
  const uploaded = await fetch(`${gateway.origin}/v1/files`, {
    method: 'POST',
    headers: { authorization: 'Bearer the-key-of-the-caller-0123456789' },
    body: form,
  })
  t.equal(uploaded.status, 200)
  await test.open('/files?key=caller')
  await page.getByText('lines.jsonl').waitFor()
  t.same(await test.axe(), [])
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('caller has no files.').waitFor()
})
