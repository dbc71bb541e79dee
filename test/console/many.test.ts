import t from 'tap'
import { adminOf } from '../helpers/admin.js'
import { needsBrowser, openConsole } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

const KEYS = 250
const TASKS = 101

/** Keys of the file that have limits. */
function manyKeys(): string {
  const digest = (n: number): string => `sha256:${n.toString(16).padStart(64, '0')}`
  return Array.from(
    { length: KEYS },
    (_, n) => `  key-${n}: { secret: { hash: "${digest(n)}" }, limits: { requests: ${1000 + n}/day } }\n`,
  ).join('')
}

t.test('every one of very many keys is found, and can be changed or revoked', async t => {
  const test = await openConsole(t, { key: manyKeys() })
  const { page, admin } = test
  const ask = adminOf(t, admin)
  const limits = { requests: '7/day' }
  t.equal((await ask('POST', '/admin/keys', { name: 'leaked', models: ['*'], limits })).status, 201)
  await test.signIn()
  await test.open('/keys?name=key-240')
  await page.getByText('0 of 1,240 requests / day').waitFor()
  await page.getByText(/limits: \{ requests: 1240\/day \}/).waitFor()
  await test.open('/keys?group=research')
  await page.getByText(/limits: \{ budget: 500 USD\/month \}/).waitFor()
  const list = page.getByRole('region', { name: 'Keys', exact: true })
  await test.open('/keys')
  await list.getByRole('link', { name: 'key-0', exact: true }).waitFor()
  await page.getByRole('link', { name: 'More', exact: true }).click()
  await list.getByRole('link', { name: 'leaked', exact: true }).click()
  await page.getByText('0 of 7 requests / day').waitFor()
  await page.getByRole('heading', { name: 'Change the limits of leaked' }).waitFor()
  await page.getByText('curl -X PATCH').waitFor()
  t.same(test.said, [])
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByLabel(/Its name, to revoke it/).fill('leaked')
  await page.locator('button[type=submit]', { hasText: 'Revoke' }).click()
  await page.getByText('There is no key of this name.').waitFor()
  t.equal(await page.getByText('Change the limits of').count(), 0, 'there is nothing to change')
  t.equal((await ask('GET', '/admin/keys/leaked')).status, 404)
})

t.test('of very many tasks the newest are shown, and each by its id', async t => {
  const test = await openConsole(t)
  const { page, gateway } = test
  const ids: string[] = []
  for (let n = 0; n < TASKS; n++) {
    const body = { model: 'sim-video', prompt: 'A boat.' }
    const answer = await gateway.request('/v1/videos', { method: 'POST', body })
    ids.push((answer.json() as { readonly id: string }).id)
  }
  const [oldest = '', newest = ''] = [ids[0], ids.at(-1)]
  await test.signIn()
  await test.open(`/tasks?id=${newest}`)
  await page.getByRole('heading', { name: newest }).waitFor()
  await page.locator(`tbody a[href^="/tasks?id=${newest}&owner="]`).waitFor()
  await test.open(`/tasks?id=${oldest}`)
  await page.getByRole('heading', { name: oldest }).waitFor()
  await test.open('/tasks?id=task_00000000000000000000000000000000')
  await page.getByText('There is no task of this id').waitFor()
})
