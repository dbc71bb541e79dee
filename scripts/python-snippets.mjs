// Runs the Python of the cookbook: each snippet as the page has it, against a gateway with the configuration of the page, whose
// upstreams are simulated. Build first.   node scripts/python-snippets.mjs [PAGE ...]
// Packages that cannot be installed here are skipped, which is reported and is not a failure.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KEY, startGateway } from './clients/gateway.mjs'
import { install, Skipped } from './clients/install.mjs'
import { runToEnd } from './clients/processes.mjs'

const COOKBOOK = fileURLToPath(new URL('../docs/cookbook/', import.meta.url))
/** What the snippet of each page imports, from PyPI. */
const PAGES = {
  langchain: { pip: 'langchain-openai', version: '1.7.4' },
  llamaindex: { pip: 'llama-index-llms-openai-like', version: '0.8.1' },
  'pydantic-ai': { pip: 'pydantic-ai-slim[openai]', version: '2.68.0' },
}
/** The address that all pages name. */
const ADDRESS = 'http://127.0.0.1:8080'
const RUN_TIMEOUT_MS = 120_000

const wanted = process.argv.slice(2)
const work = mkdtempSync(join(tmpdir(), 'gateway-snippets-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
const names = Object.keys(PAGES).filter(name => wanted.length === 0 || wanted.includes(name))
const runs = await Promise.all(names.map(name => tryPage(name)))
const failed = runs.filter(isWell => !isWell).length
console.log(`${runs.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

/** False where the snippet fails. */
async function tryPage(name) {
  const page = readFileSync(join(COOKBOOK, `${name}.md`), 'utf8')
  const folder = join(work, name)
  const installed = join(folder, 'installed')
  const { pip, version } = PAGES[name]
  try {
    await install(PAGES[name], installed)
  } catch (error) {
    if (!(error instanceof Skipped)) throw error
    console.log(`SKIPPED: ${pip} ${version} ${error.message}`)
    return true
  }
  const gateway = await startGateway(join(folder, 'gateway'), simulated(block(page, 'yaml')))
  try {
    return await run(`${pip} ${version}`, block(page, 'python').replaceAll(ADDRESS, gateway.origin), gateway, installed)
  } finally {
    await gateway.stop()
  }
}

async function run(title, code, gateway, installed) {
  const env = {
    PATH: process.env.PATH,
    HOME: installed,
    PYTHONPATH: installed,
    GATEWAY_KEY: KEY,
    OPENAI_API_KEY: 'unused',
  }
  const ended = await runToEnd('python3', ['-c', code], { cwd: installed, env, timeoutMs: RUN_TIMEOUT_MS })
  const requests = await gateway.newRequests()
  const isAnswered = requests.length > 0 && requests.every(({ status, outcome }) => status === 200 && outcome === 'ok')
  const isWell = ended.code === 0 && ended.out.trim() !== '' && isAnswered
  console.log(`${isWell ? 'ok      ' : 'FAILED  '}${title}: ${JSON.stringify(ended.out.trim().slice(0, 100))}`)
  if (!isWell) console.log(ended.err.slice(-2000), JSON.stringify(requests))
  return isWell
}

/** The first block of this language. */
function block(page, language) {
  const [, text] = page.match(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms')) ?? []
  if (text === undefined) throw new Error(`no block of ${language}`)
  return text
}

/** The configuration with simulated upstreams, which have no secret and know no models of providers. */
function simulated(yaml) {
  return yaml
    .replace(/kind: anthropic, secret: \{[^}]*\}/g, 'kind: simulator-messages')
    .replace(/kind: openai, secret: \{[^}]*\}/g, 'kind: simulator')
    .replace(/as: (?:claude|gpt)[\w.-]+/g, 'as: sim-text')
}
