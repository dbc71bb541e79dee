import { Agent, get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** Time between two probes, milliseconds. A slow answer holds back no other probe, so that a stall counts whole. */
const EVERY_MS = 10

/** Answers of `/livez` in milliseconds, in order of arrival; probes that failed are counted apart. */
export interface ProbeReport {
  readonly times: readonly number[]
  readonly failures: number
}

// Runs in a thread of its own: the test's own work, and what it reads of answers, would count as the gateway's delay.
const { origin } = workerData as { origin: string }
const agent = new Agent({ keepAlive: true })
const times: number[] = []
let failures = 0
let open = 0
let ending = false

const timer = setInterval(() => {
  open++
  const started = performance.now()
  get(`${origin}/livez`, { agent }, response => {
    if (response.statusCode !== 200) failures++
    response.resume().on('end', () => {
      times.push(performance.now() - started)
      if (times.length === 1) parentPort?.postMessage('ready')
      close()
    })
  }).on('error', () => {
    failures++
    close()
  })
}, EVERY_MS)

function close(): void {
  open--
  if (ending && open === 0) report()
}

function report(): void {
  agent.destroy()
  parentPort?.postMessage({ times, failures } satisfies ProbeReport)
  parentPort?.close()
}

parentPort?.once('message', () => {
  clearInterval(timer)
  ending = true
  if (open === 0) report()
})
