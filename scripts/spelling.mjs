// Spelling of what users read: guides, reference (where messages and help are), descriptions of settings, and the console.
//   node scripts/spelling.mjs
// Names that the dictionaries do not have are in scripts/spelling.json. cspell comes from npm into a temporary folder; without it: skipped.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install, Skipped } from './clients/install.mjs'
import { runToEnd } from './clients/processes.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CSPELL = { npm: 'cspell', version: '9.8.0' }
const RUN_TIMEOUT_MS = 120_000
const READ = ['*.md', '.github/**/*.{md,yml}', 'docs/**/*.md', 'schemas/*.json', 'console/src/**/*.tsx', 'action.yml']

const work = mkdtempSync(join(tmpdir(), 'gateway-spelling-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
try {
  await install(CSPELL, work)
  const args = [join(work, 'node_modules/cspell/bin.mjs'), 'lint', '--config', join(ROOT, 'scripts/spelling.json')]
  args.push('--no-progress', '--dot', '--show-suggestions', ...READ)
  const { code, out, err } = await runToEnd(process.execPath, args, {
    cwd: ROOT,
    env: process.env,
    timeoutMs: RUN_TIMEOUT_MS,
  })
  console.log(`${out}${err}`.trim())
  process.exitCode = code === 0 ? 0 : 1
} catch (error) {
  if (!(error instanceof Skipped)) throw error
  console.log(`SKIPPED: spelling: ${error.message}`)
}
