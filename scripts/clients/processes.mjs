// Child processes that end: with a deadline, a bounded output, and no child of theirs left behind.
import { spawn } from 'node:child_process'

const MAX_OUTPUT_CHARACTERS = 1024 * 1024
const PIPES_TIMEOUT_MS = 2000

/**
 * Runs a command to its end. Resolves with `{ code, out, err, timedOut }`; never rejects: a command that cannot be started
 * has the code 127. At the deadline the whole process group is killed.
 */
export function runToEnd(command, args, { cwd, env, timeoutMs }) {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const result = { code: undefined, out: '', err: '', timedOut: false }
    const deadline = setTimeout(() => {
      result.timedOut = true
      killGroup(child, 'SIGKILL')
    }, timeoutMs)
    collect(child.stdout, text => {
      result.out = (result.out + text).slice(-MAX_OUTPUT_CHARACTERS)
    })
    collect(child.stderr, text => {
      result.err = (result.err + text).slice(-MAX_OUTPUT_CHARACTERS)
    })
    child.on('error', error => {
      clearTimeout(deadline)
      resolve({ ...result, code: 127, err: error.message })
    })
    const finish = () => {
      clearTimeout(deadline)
      resolve({ ...result, code: child.exitCode ?? child.signalCode })
    }
    // Children that a program leaves behind hold its pipes open: they end with it, and are not waited for long.
    child.on('exit', () => {
      killGroup(child, 'SIGKILL')
      setTimeout(finish, PIPES_TIMEOUT_MS).unref()
    })
    child.on('close', finish)
  })
}

export function killGroup(child, signal) {
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has ended already.
  }
}

export function collect(stream, take) {
  stream.setEncoding('utf8')
  stream.on('data', take)
}
