#!/usr/bin/env node
// Runs compiled test files and adds up what they assert. Files of one folder share a process, some at a time, so that each need
// not load and compile the gateway again; those of test/alone.txt have one to themselves, and so has any with --alone.
//
//   node scripts/test.mjs                        every test file but those of test/apart.txt
//   node scripts/test.mjs --apart                those of test/apart.txt
//   node scripts/test.mjs test/wire test/cli/serve.test.ts   those of a folder, and one
//   node scripts/test.mjs --list test/runtime-dependent.txt  those that a file lists, a path a line
//   node scripts/test.mjs --jobs 1 --timeout 600 …           one at a time, each file for at most 600 seconds
//   node scripts/test.mjs --alone …                          each file in a process of its own
//   node scripts/test.mjs --each test/wire                   with a line for each test as it ends
//   node scripts/test.mjs --results FILE …                   with a JSON line in FILE for each test and assertion
//   node scripts/test.mjs --rerun …                          files that fail run once more, alone (RERUN_FAILED=true does the same)
//
// A file that passes only when it runs alone is named in a line `# FLAKY`: it passes, and has to be mended.
//
// The test library is tap; its own command line loads coverage hooks into every process of a test, also into the gateways
// that a test starts. That doubles the time of the suite, so the files are run as the plain programs that they are.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Parser } from 'tap-parser'
import { END_OF_FILE } from './test-words.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILT = join(ROOT, '.test-build')
/** Of what one failed assertion tells beside its difference. */
const MAX_REPORT_CHARS = 2_000
const MAX_LINE_CHARS = 400
const MAX_STDERR_CHARS = 16_384
/** Of a test that sets none itself. */
const TEST_TIMEOUT_SECONDS = 240
const KILL_AFTER_MS = 5_000
/** What a test reports although it passes: what it left out, and what it measured. */
const NOTICE = /^# (SKIPPED|SAMPLED|MEASURED)/
/** When more files fail, load is not the reason. */
const MAX_RERUN_FILES = 12
const SLOW_FILES_SHOWN = 12
/** More share what they load with more others, and leave less to run side by side at the end. */
const MAX_FILES_OF_A_PROCESS = 8
/** A folder of memory: stores and servers that tests start there wait for no disk. */
const MEMORY_FOLDER = '/dev/shm'
const MIN_MEMORY_FOLDER_BYTES = 4 * 1024 ** 3
/** Many files wait for time-outs and for processes: two more than the cores keep them busy. */
const DEFAULT_JOBS = availableParallelism() + 2

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: String(DEFAULT_JOBS) },
    timeout: { type: 'string', default: '900' },
    list: { type: 'string' },
    apart: { type: 'boolean', default: false },
    alone: { type: 'boolean', default: false },
    each: { type: 'boolean', default: false },
    results: { type: 'string' },
    rerun: { type: 'boolean', default: process.env.RERUN_FAILED === 'true' },
  },
})
const timeoutSeconds = Number(values.timeout)
if (values.results !== undefined) writeFileSync(values.results, '')

const temporary = inMemory() && mkdtempSync(join(MEMORY_FOLDER, 'gateway-test-'))
// Servers that tests start run as users of their own.
if (temporary) chmodSync(temporary, 0o1777)
process.on('exit', () => temporary && rmSync(temporary, { recursive: true, force: true }))

function inMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= MIN_MEMORY_FOLDER_BYTES
  } catch {
    return false
  }
}

/** The compiled test files below a path of the source tree or of the build; one file for the path of a file. */
function filesOf(path) {
  const inRoot = relative(ROOT, resolve(path)).replace(/^\.test-build\//, '')
  const built = join(BUILT, inRoot.replace(/\.ts$/, '.js'))
  if (!existsSync(built)) throw new Error(`no compiled tests at ${built}`)
  if (statSync(built).isFile()) return [built]
  return readdirSync(built, { recursive: true })
    .filter(name => name.endsWith('.test.js'))
    .map(name => join(built, name))
    .filter(hasSource)
    .sort()
}

/** A build keeps what was compiled of files that have moved. */
function hasSource(file) {
  return existsSync(join(ROOT, relative(BUILT, file).replace(/\.js$/, '.ts')))
}

/**
 * Runs files in one process; the promise never rejects. Resolves to a result for each that was begun: files behind one that
 * ended the process are none of them.
 */
function run(files) {
  const since = performance.now()
  const name = relative(BUILT, files[0]).replace(/\W+/g, '-')
  const program = files.length === 1 ? [files[0]] : [join(ROOT, 'scripts', 'test-group.mjs'), name]
  return new Promise(done => {
    const child = spawn(process.execPath, ['--enable-source-maps', ...program], {
      cwd: ROOT,
      detached: true,
      env: {
        ...process.env,
        TAP_TIMEOUT: String(TEST_TIMEOUT_SECONDS),
        ...(files.length > 1 && { TEST_FILES: files.join(',') }),
        ...(temporary && { TMPDIR: temporary }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    const reports = [newReport(files[0], since)]
    const parser = new Parser()
    count(parser, reports, isEnd => {
      reports.at(-1).seconds = (performance.now() - reports.at(-1).since) / 1000
      const next = files[reports.length]
      if (isEnd && next !== undefined) reports.push(newReport(next, performance.now()))
      timer.refresh()
    })
    child.stdout.pipe(parser)
    child.stderr.setEncoding('utf8').on('data', text => {
      for (const line of text.split('\n')) if (NOTICE.test(line)) console.log(line)
      reports.at(-1).stderr = (reports.at(-1).stderr + text).slice(-MAX_STDERR_CHARS)
    })
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      endGroup(child, 'SIGTERM')
      setTimeout(() => endGroup(child, 'SIGKILL'), KILL_AFTER_MS).unref()
    }, timeoutSeconds * 1000)
    child.on('exit', () => {
      clearTimeout(timer)
      running.delete(child)
      // What a test left behind ends with it: it would hold the pipe, and this run, open.
      endGroup(child, 'SIGKILL')
    })
    const ended = once(child, 'close')
    parser.on('complete', async results => {
      const [code, signal] = await ended
      const isGood = reports.every(({ failures }) => failures.length === 0)
      const end = { code, signal, timedOut, failures: isGood ? [...results.failures] : [], isGood }
      done(reports.map((report, at) => closed(report, at === reports.length - 1 ? end : undefined)))
    })
  })
}

const newReport = (file, since) => ({ file, since, seconds: 0, pass: 0, fail: 0, skips: [], failures: [], stderr: '' })

/** What a file came to; `end`: how its process ended, if it was the last one there. */
function closed({ since, ...report }, end) {
  const failures = [...report.failures, ...(end?.failures ?? [])]
  if (end?.timedOut) failures.push({ fullname: `no end after ${timeoutSeconds} s` })
  else if (end?.signal) failures.push({ fullname: `ended by ${end.signal}` })
  else if (end?.isGood && failures.length === 0 && end.code !== 0)
    failures.push({ fullname: `exit status ${end.code}` })
  if (failures.length === 0 && report.pass + report.skips.length === 0)
    failures.push({ fullname: 'nothing was asserted' })
  const seconds = end === undefined ? report.seconds : (performance.now() - since) / 1000
  return { ...report, seconds, fail: Math.max(report.fail, failures.length), failures }
}

/**
 * Counts assertions as a report is read: those inside subtests, and not the line that sums a subtest up, but for subtests
 * without any, which fail by throwing. They count for the last one of `reports`; `onTest` gets each test of a file that
 * ends, and whether it is the subtest that ends a file.
 */
function count(parser, reports, onTest) {
  let child
  parser.on('comment', text => NOTICE.test(text) && process.stdout.write(text))
  parser.on('child', one => {
    child = one
    count(one, reports)
  })
  parser.on('assert', test => {
    const { ok, skip, todo, name, diag } = test
    const report = reports.at(-1)
    const isEnd = onTest !== undefined && name === END_OF_FILE
    const sumsUp = child !== undefined && child.count > 0
    child = undefined
    if (!isEnd) {
      if (skip || todo) report.skips.push(skipLine(parser, test))
      else if (!sumsUp) report[ok ? 'pass' : 'fail'] += 1
      if (!ok && !skip && !todo && !sumsUp) report.failures.push({ fullname: `${parser.fullname} > ${name}`, diag })
      if (values.results !== undefined) keepResult(report.file, test)
      if (values.each && onTest !== undefined) console.log(line(report.file, test))
    }
    onTest?.(isEnd)
  })
}

/** Appends what a test or assertion came to: `{ file, name, ok, skipped, ms }`; `ms` is of tests alone. */
function keepResult(file, { ok, skip, todo, name, time }) {
  const result = { file: relative(BUILT, file), name, ok, skipped: Boolean(skip || todo), ms: time ?? undefined }
  appendFileSync(values.results, `${JSON.stringify(result)}\n`)
}

function line(file, { ok, skip, name }) {
  return `${ok ? (skip ? 'skipped' : 'ok     ') : 'FAILED '} ${relative(BUILT, file)}  ${name}`
}

/** A skipped test as it is printed, and why, where that is said. */
function skipLine({ fullname }, { name, skip, todo }) {
  const reason = [skip, todo].find(one => typeof one === 'string')
  return `${[fullname, name].filter(Boolean).join(' > ')}${reason === undefined ? '' : `: ${reason}`}`
}

function endGroup(child, signal) {
  try {
    process.kill(-child.pid, signal)
  } catch {
    // Nothing of the group is left.
  }
}

/** A difference, with its long lines cut. */
function shortLines(text) {
  return text
    .split('\n')
    .map(line => `    ${line.slice(0, MAX_LINE_CHARS)}`)
    .join('\n')
    .slice(0, 4 * MAX_REPORT_CHARS)
}

function report({ file, failures, stderr }) {
  console.log(`FAILED  ${relative(BUILT, file)}`)
  for (const { fullname, diag } of failures) {
    console.log(`  not ok ${fullname}`)
    const { diff, found, wanted, at, stack, ...others } = diag ?? {}
    if (diff !== undefined) console.log(shortLines(String(diff)))
    const rest = { found, wanted, at: at && `${at.fileName}:${at.lineNumber}`, stack, ...others }
    console.log(JSON.stringify(rest, null, 2).replace(/^/gm, '    ').slice(0, MAX_REPORT_CHARS))
  }
  if (stderr.trim() !== '') console.log(stderr.replace(/^/gm, '    stderr: '))
}

const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const child of running) endGroup(child, 'SIGKILL')
    process.exit(1)
  })
}

/** The paths that a file lists, one a line; the other lines say why. */
const listedIn = list =>
  readFileSync(list, 'utf8')
    .split('\n')
    .filter(line => /^test/.test(line))

const paths = [...positionals, ...(values.list === undefined ? [] : listedIn(values.list))]
const apart = new Set(listedIn(join(ROOT, 'test/apart.txt')).flatMap(filesOf))
const usual = values.apart ? [...apart] : filesOf('test').filter(file => !apart.has(file))
const files = paths.length > 0 ? [...new Set(paths.flatMap(filesOf))] : usual
const alone = new Set(listedIn(join(ROOT, 'test/alone.txt')).flatMap(filesOf))

/** What runs in one process: files that have one to themselves come first, because they are the longest. */
function processes() {
  if (values.alone) return files.map(file => [file])
  const shared = files.filter(file => !alone.has(file))
  const groups = [...new Set(shared.map(dirname))].flatMap(folder => {
    const ofFolder = shared.filter(file => dirname(file) === folder)
    const count = Math.ceil(ofFolder.length / MAX_FILES_OF_A_PROCESS)
    return Array.from({ length: count }, (_, at) => ofFolder.filter((_, index) => index % count === at))
  })
  return [...files.filter(file => alone.has(file)).map(file => [file]), ...groups]
}

const queue = processes()
const results = []
async function work() {
  for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
    const reports = await run(group)
    results.push(...reports)
    for (const result of reports) if (result.failures.length > 0) report(result)
    queue.unshift(...group.slice(reports.length).map(file => [file]))
  }
}

/** What failed beside other files may pass alone; then its second result counts. */
async function rerunFailed() {
  const failed = results.filter(result => result.failures.length > 0)
  if (failed.length > MAX_RERUN_FILES) return
  for (const first of failed) {
    const [second] = await run([first.file])
    if (second.failures.length > 0) continue
    results[results.indexOf(first)] = second
    flaky.push(first.file)
  }
}

const since = performance.now()
await Promise.all(Array.from({ length: Math.min(Number(values.jobs), queue.length) }, work))

const flaky = []
if (values.rerun) await rerunFailed()

const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOW_FILES_SHOWN)
console.log('\nslowest files:')
for (const { file, seconds } of slowest) console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${relative(BUILT, file)}`)
const failedFiles = results.filter(result => result.failures.length > 0)
console.log(
  `\n${files.length} files, ${failedFiles.length} failed, ${((performance.now() - since) / 1000).toFixed(0)} s`,
)
for (const { file } of failedFiles) console.log(`  failed: ${relative(BUILT, file)}`)
for (const file of flaky) console.log(`# FLAKY: ${relative(BUILT, file)} failed beside others and passed alone`)
const skips = results.flatMap(({ file, skips }) => skips.map(skip => `${relative(BUILT, file)} > ${skip}`))
for (const skip of skips.sort()) console.log(`# SKIPPED: ${skip}`)
if (skips.length > 0) console.log(`${skips.length} skipped`)
const total = key => results.reduce((sum, result) => sum + result[key], 0)
console.log(`${total('pass')} passed, ${total('fail')} failed`)
process.exitCode = failedFiles.length === 0 ? 0 : 1
