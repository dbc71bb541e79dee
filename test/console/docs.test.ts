import type { Page } from 'playwright-core'
import t from 'tap'
import { needsBrowser, openConsole, scrollsSideways } from './browser.js'

/** The documentation in a browser, as the admin listener serves it: what a page costs, and whether everyone can read it. */

needsBrowser()

const PAGES = ['index', 'start', 'cookbook/index', 'cookbook/team-budgets', 'configuration', 'errors']
/** Of a page: requests, and bytes of the bodies as they travel. */
const MAX_REQUESTS = 5
const MAX_BYTES = 64 * 1024

interface Cost {
  readonly requests: number
  readonly bytes: number
  readonly paint_ms: number
  readonly shift: number
}

/** What the browser itself measured of the page that is open. */
function costOf(page: Page): Promise<Cost> {
  return page.evaluate(async () => {
    interface Entry {
      readonly name: string
      readonly startTime: number
      readonly value?: number
      readonly encodedBodySize?: number
      readonly transferSize?: number
    }
    const timing = performance as unknown as { getEntriesByType(type: string): Entry[] }
    const Watch = PerformanceObserver as unknown as new (
      done: (list: { getEntries(): Entry[] }) => void,
    ) => { observe(what: object): void; takeRecords(): Entry[] }
    // Entries of before count as well; Playwright's own way of waiting evaluates text, which the page forbids.
    await new Promise<void>(painted => new Watch(() => painted()).observe({ type: 'paint', buffered: true }))
    let shift = 0
    const watch = new Watch(list => {
      for (const { value = 0 } of list.getEntries()) shift += value
    })
    watch.observe({ type: 'layout-shift', buffered: true })
    for (const { value = 0 } of watch.takeRecords()) shift += value
    const all = [...timing.getEntriesByType('navigation'), ...timing.getEntriesByType('resource')]
    const paint = timing.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint')
    const bytes = all.reduce((sum, { transferSize = 0 }) => sum + transferSize, 0)
    return { requests: all.length, bytes, paint_ms: paint?.startTime ?? -1, shift }
  })
}

t.test('the documentation', async t => {
  const { page, open, axe, said } = await openConsole(t)

  for (const name of PAGES) {
    await t.test(`${name}: few bytes and requests, nothing moves, no error, and everyone can read it`, async t => {
      await open(`/docs/${name}.html`)
      const { requests, bytes, paint_ms, shift } = await costOf(page)
      console.log(
        `# MEASURED: ${name}: ${requests} requests, ${bytes} bytes, first paint after ${paint_ms.toFixed(0)} ms`,
      )
      t.ok(requests <= MAX_REQUESTS, `${requests} requests`)
      t.ok(bytes > 0 && bytes <= MAX_BYTES, `${bytes} bytes`)
      t.ok(paint_ms > 0, 'its text is painted')
      t.ok(shift < 0.1, `a layout that moves by ${shift}`)
      t.same(await axe(), [])
      t.same(said, [])
    })
  }

  await t.test('it fits small screens, light and dark', async t => {
    await page.setViewportSize({ width: 360, height: 740 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const name of ['index', 'configuration']) {
        await open(`/docs/${name}.html`)
        t.notOk(await scrollsSideways(page), `${name}, ${colorScheme}`)
        t.same(await axe(), [], `${name}, ${colorScheme}`)
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  await t.test('its search finds a section, and leads there', async t => {
    await open('/docs/index.html')
    await page.locator('#search').fill('rotate keys')
    await page.locator('#found a').first().click()
    await page.waitForURL(/\/docs\/(?!index).*\.html/)
    t.same(said, [])
  })
})
