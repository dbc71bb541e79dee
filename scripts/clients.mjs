// Runs end-user programs, at the versions that are pinned here, on the text models of the shipped file, and keeps what came of
// it in docs/clients.md. Build first.
//   node scripts/clients.mjs              runs them; ends with 1 where one fails
//   node scripts/clients.mjs --check      and where docs/clients.md does not say what came of those that ran
//   node scripts/clients.mjs --write      writes it there, and takes its time
//   node scripts/clients.mjs llm aider    only these
// Programs that cannot be installed here are skipped, which is reported and is not a failure.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from './clients/gateway.mjs'
import { install, Skipped } from './clients/install.mjs'
import { isFresh, table, writePage } from './clients/page.mjs'
import { runToEnd } from './clients/processes.mjs'
import { ai } from './clients/programs/ai.mjs'
import { aider } from './clients/programs/aider.mjs'
import { codex } from './clients/programs/codex.mjs'
import { gemini } from './clients/programs/gemini.mjs'
import { llm } from './clients/programs/llm.mjs'
import { opencode } from './clients/programs/opencode.mjs'
import { stageFor } from './clients/stage.mjs'

/** In the order in which they begin. Each is one way of speaking, or several of the same program. */
const PROGRAMS = [codex, gemini, ai, llm, opencode, aider].map(program => [program].flat())
const MODELS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate']
const AT_ONCE = 2
/** What has not begun by then is skipped: a slow registry must not cost the run its time. */
const BUDGET_MS = 270_000
const TRIES = 2
const VERSION_TIMEOUT_MS = 60_000

const flags = process.argv.slice(2).filter(word => word.startsWith('--'))
const only = process.argv.slice(2).filter(word => !word.startsWith('--'))
const begun = Date.now()
const work = mkdtempSync(join(tmpdir(), 'gateway-clients-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
process.exitCode = await main()

async function main() {
  const wanted = PROGRAMS.filter(([{ name }]) => only.length === 0 || only.some(word => simple(name).includes(word)))
  const waiting = [...wanted]
  const rows = []
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) rows.push(...(await tryProgram(next)))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  rows.sort((a, b) => PROGRAMS.flat().indexOf(a.program) - PROGRAMS.flat().indexOf(b.program))
  console.log(`\n${table(rows, MODELS)}\n`)
  if (flags.includes('--write')) writePage(rows, PROGRAMS, MODELS)
  const stale = flags.includes('--check') && !isFresh(rows, PROGRAMS, MODELS)
  if (stale) console.log('docs/clients.md is stale: write it by node scripts/clients.mjs --write')
  return stale || rows.some(({ cells }) => cells?.some(({ failed }) => failed.length > 0)) ? 1 : 0
}

function simple(name) {
  return name.toLowerCase()
}

/** The rows of one program: one for each protocol that it speaks, with a cell for each model, or the reason why none ran. */
async function tryProgram(variants) {
  const { name, source } = variants[0]
  const folder = join(work, simple(name).replaceAll(' ', '-'))
  const installed = join(folder, 'installed')
  const skipped = error => {
    if (!(error instanceof Skipped)) throw error
    console.log(`SKIPPED: ${name} ${error.message}`)
    return error.message
  }
  try {
    inTime()
    await install(source, installed)
    await starts(variants[0], installed, folder)
  } catch (error) {
    const reason = skipped(error)
    return variants.map(program => ({ program, skipped: reason }))
  }
  console.log(`install  ${name} ${source.version} (${seconds()})`)
  const gateway = await startGateway(join(folder, 'gateway'))
  const rows = []
  for (const program of variants) {
    const stage = () =>
      stageFor(program, { folder: join(folder, program.protocol), installed, gateway, models: MODELS })
    rows.push(await tryProtocol(program, stage).catch(error => ({ program, skipped: skipped(error) })))
  }
  await gateway.stop()
  return rows
}

async function tryProtocol(program, makeStage) {
  inTime()
  const stage = makeStage()
  const cells = []
  for (const model of MODELS) cells.push(await tryModel(program, stage, model))
  return { program, cells }
}

/** A binary that cannot run on this machine is not a failure of ours. */
async function starts({ command, version, quiet }, installed, folder) {
  if (version === undefined) return
  const [first, ...rest] = command(installed)
  const env = { PATH: process.env.PATH, HOME: folder, PYTHONPATH: installed, ...quiet }
  const { code, err } = await runToEnd(first, [...rest, ...version], {
    cwd: folder,
    env,
    timeoutMs: VERSION_TIMEOUT_MS,
  })
  if (code !== 0) throw new Skipped(`does not start here (${code}): ${err.trim().split('\n').at(-1)}`)
}

async function tryModel({ name, protocol, capabilities }, stage, model) {
  const failed = []
  for (const [capability, check] of Object.entries(capabilities)) {
    const what = `${name}, ${protocol}, ${model}: ${capability}`
    if (!(await passes(what, () => check(stage, model)))) failed.push(capability)
  }
  return { model, failed }
}

/** Programs stumble over themselves now and then: a second try is allowed, and reported. */
async function passes(what, check) {
  for (let tried = 1; tried <= TRIES; tried += 1) {
    try {
      await check()
      console.log(`ok       ${what} (${seconds()})`)
      return true
    } catch (error) {
      console.log(`${tried < TRIES ? 'RETRIED ' : 'FAILED  '} ${what} (${seconds()})`)
      console.log(error.message.replace(/^/gm, '         '))
    }
  }
  return false
}

function inTime() {
  if (Date.now() - begun > BUDGET_MS && !flags.includes('--write'))
    throw new Skipped(`had not begun within ${BUDGET_MS / 1000} s`)
}

function seconds() {
  return `${Math.round((Date.now() - begun) / 1000)} s`
}
