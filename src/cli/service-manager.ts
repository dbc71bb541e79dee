import { execFile } from 'node:child_process'
import { type Io, print } from './io.js'

/** Sends states to systemd (sd_notify(3)). Node has no sockets of datagrams for it, so its own program sends them. */
const PROGRAM = 'systemd-notify'
/** Longest time that one message may take, milliseconds. */
const MESSAGE_TIMEOUT_MS = 5_000
/** Messages of the watchdog within its time: one may be late. */
const MESSAGES_PER_PERIOD = 2

/** What the service manager hears of a process that it started with `Type=notify`. */
export interface ServiceManager {
  /** It listens; from now on the watchdog hears of it as long as its event loop runs. */
  ready(): void
  stopping(): void
}

const NONE: ServiceManager = { ready: () => undefined, stopping: () => undefined }

/** Says nothing where no one listens: without NOTIFY_SOCKET. A message that cannot be sent is reported once. */
export function serviceManager({ env, stderr }: Pick<Io, 'env' | 'stderr'>): ServiceManager {
  if (env.NOTIFY_SOCKET === undefined) return NONE
  let hasFailed = false
  let order: Promise<void> = Promise.resolve()
  let waiting = 0
  const send = (...states: readonly string[]): void => {
    waiting++
    order = order.then(
      () =>
        new Promise(done => {
          const options = { env: { PATH: env.PATH, NOTIFY_SOCKET: env.NOTIFY_SOCKET }, timeout: MESSAGE_TIMEOUT_MS }
          execFile(PROGRAM, states, options, error => {
            if (error !== null && !hasFailed) print(stderr, `${PROGRAM} cannot be run: ${error.message.split('\n')[0]}`)
            hasFailed ||= error !== null
            waiting--
            done()
          })
        }),
    )
  }
  return {
    ready() {
      send('READY=1', `MAINPID=${process.pid}`)
      const period = watchdogMs(env)
      if (period !== undefined)
        setInterval(() => waiting === 0 && send('WATCHDOG=1'), period / MESSAGES_PER_PERIOD).unref()
    },
    stopping: () => send('STOPPING=1'),
  }
}

/** How often the watchdog wants to hear, milliseconds; it may be meant for another process. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: Io['env']): number | undefined {
  const microseconds = Number(WATCHDOG_USEC)
  const isForUs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(process.pid)
  return microseconds > 0 && isForUs ? microseconds / 1000 : undefined
}
