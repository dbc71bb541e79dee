// Lighthouse over the documentation and the console's sign-in page, as the admin listener serves them. Build first.
//   node scripts/lighthouse.mjs
// Its scores for accessibility, best practices and search engines have a floor; speed is of this machine, and has none.
// What cannot be installed is skipped. CHROMIUM names the browser.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { startGateway } from './clients/gateway.mjs'
import { install, Skipped } from './clients/install.mjs'
import { freePort } from './free-port.mjs'

const LIGHTHOUSE = { npm: 'lighthouse', version: '12.8.2' }
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const CATEGORIES = ['accessibility', 'best-practices', 'seo']
const LEAST_SCORE = 0.95
/** The admin listener's: a first page, a long one, a recipe, one with a picture, and the console before anyone has signed in. */
const PAGES = [
  'docs/index.html',
  'docs/configuration.html',
  'docs/cookbook/team-budgets.html',
  'docs/concepts.html',
  '',
]
const PAGE_TIMEOUT_MS = 30_000

const work = mkdtempSync(join(tmpdir(), 'gateway-lighthouse-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
try {
  const since = performance.now()
  await install(LIGHTHOUSE, work)
  console.log(`lighthouse ${LIGHTHOUSE.version} installed in ${((performance.now() - since) / 1000).toFixed(0)} s`)
  await measure()
} catch (error) {
  if (!(error instanceof Skipped)) throw error
  console.log(`SKIPPED: lighthouse ${error.message}`)
}

async function measure() {
  const { default: lighthouse } = await import(pathToFileURL(join(work, 'node_modules/lighthouse/core/index.js')).href)
  const adminPort = await freePort()
  const gateway = await startGateway(
    join(work, 'gateway'),
    `version: 1
store: { type: memory }
admin: { port: ${adminPort}, secret: { env: GATEWAY_KEY } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
`,
  )
  const port = await freePort()
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', `--remote-debugging-port=${port}`],
  })
  const flags = {
    port,
    onlyCategories: CATEGORIES,
    logLevel: 'error',
    throttlingMethod: 'provided',
    disableFullPageScreenshot: true,
    maxWaitForLoad: PAGE_TIMEOUT_MS,
  }
  try {
    for (const path of PAGES) {
      const { lhr } = await lighthouse(`http://127.0.0.1:${adminPort}/${path}`, flags)
      report(path === '' ? 'console, sign-in' : path, lhr)
    }
  } finally {
    await browser.close()
    await gateway.stop()
  }
}

/** Prints the scores of a page, and where one is below the floor, what lowers it. */
function report(name, { categories, audits, runtimeError }) {
  const scores = CATEGORIES.map(id => [id, categories[id]?.score ?? 0])
  const low = scores.filter(([, score]) => score < LEAST_SCORE)
  const told = scores.map(([id, score]) => `${id} ${Math.round(score * 100)}`).join(', ')
  console.log(`${low.length === 0 ? 'ok' : 'FAILED'}  ${name}: ${told}`)
  if (low.length === 0) return
  process.exitCode = 1
  if (runtimeError !== undefined) console.log(`  ${runtimeError.message}`)
  for (const [id] of low) {
    for (const { id: audit } of categories[id]?.auditRefs ?? []) {
      const { score, title, details } = audits[audit]
      if (score === null || score === 1) continue
      console.log(`  ${id}: ${title}`)
      for (const { node, description } of details?.items ?? []) console.log(`    ${node?.snippet ?? description ?? ''}`)
    }
  }
}
