import type { Page } from 'playwright-core'
import t from 'tap'
import { type ConsoleTest, needsBrowser, openConsole } from './browser.js'

needsBrowser()
t.setTimeout(180_000)

/** A page that asks for nothing again and again, so that only the stream can find that the session is over. */
const QUIET = '/play?operation=embeddings'

/** How often the page has asked for the stream. */
function streamsOf(page: Page): () => number {
  let count = 0
  page.on('request', asked => {
    if (asked.url().endsWith('/admin/live')) count++
  })
  return () => count
}

/** As if the page were put behind another, or shown again. */
async function look(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${state === 'hidden'}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
}

/** Once it is answered, the browser has reported all requests before it. */
async function markerAnswered({ page }: ConsoleTest): Promise<void> {
  await page.evaluate("fetch('/admin/session/ways').then(answer => answer.text())")
}

t.test('a page that is signed out asks for no stream', async t => {
  const test = await openConsole(t)
  const { page } = test
  await page.clock.install()
  await test.signIn()
  const streams = streamsOf(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await look(page, 'hidden')
  await look(page, 'visible')
  await page.clock.runFor('01:00')
  await markerAnswered(test)
  t.equal(streams(), 0)
})

t.test('a page whose session is over while its stream is away is signed out', async t => {
  const test = await openConsole(t)
  const { page } = test
  await page.clock.install()
  await test.signIn()
  await test.open(QUIET)
  await page.getByText('Live', { exact: true }).waitFor()
  const streams = streamsOf(page)
  await look(page, 'hidden')
  await page.clock.runFor('00:31')
  await page.context().clearCookies()
  await look(page, 'visible')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.clock.runFor('01:00')
  await markerAnswered(test)
  t.equal(streams(), 1, 'the one that was refused')
})

t.test('a stream that is refused is opened anew while the page is looked at, and not before', async t => {
  const test = await openConsole(t)
  const { page } = test
  await page.clock.install()
  await test.signIn()
  await test.open(QUIET)
  await page.getByText('Live', { exact: true }).waitFor()
  await look(page, 'hidden')
  await page.clock.runFor('00:31')
  const streams = streamsOf(page)
  await page.route('**/admin/live', route => route.fulfill({ status: 503 }))
  const [answer] = await Promise.all([page.waitForResponse(/admin\/session$/), look(page, 'visible')])
  t.equal(answer.status(), 200)
  await look(page, 'hidden')
  await page.clock.runFor('00:20')
  await markerAnswered(test)
  t.equal(streams(), 1, 'hidden')
  await page.unroute('**/admin/live')
  await look(page, 'visible')
  await page.getByText('Live', { exact: true }).waitFor()
  t.equal(streams(), 2)
})
