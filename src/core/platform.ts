import { homedir } from 'node:os'
import { sep } from 'node:path'

type Variables = Readonly<Record<string, string | undefined>>

/** What differs between operating systems; `docs/platforms.md` says it for people. */

/**
 * Signals that ask a process to end. Windows has no SIGTERM: there they are Ctrl+C, Ctrl+Break and, as SIGHUP, the closed
 * console window, after which Windows ends the process within seconds. Source: https://nodejs.org/api/process.html#signal-events
 */
export function endSignals(): readonly NodeJS.Signals[] {
  return isWindows() ? ['SIGINT', 'SIGBREAK', 'SIGHUP'] : ['SIGINT', 'SIGTERM']
}

/** Signals that ask for the configuration to be read again. */
export function reloadSignals(): readonly NodeJS.Signals[] {
  return isWindows() ? [] : ['SIGHUP']
}

/** Whether the mode of a file says who may read and change it. Windows keeps that in lists of its own. */
export function hasFileModes(): boolean {
  return !isWindows()
}

/**
 * The name of a file, to compare it with another that may be spelled otherwise: Windows and macOS usually tell neither capital
 * letters nor composed ones apart, and report the name as it is on the disk.
 */
export function comparedName(name: string): string {
  return isWindows() || process.platform === 'darwin' ? name.normalize('NFC').toLowerCase() : name
}

/** A relative path with slashes, the same on each system. */
export function withSlashes(path: string, separator: string = sep): string {
  return path.split(separator).join('/')
}

/** The user's own folder; `/` for a number without a name, as in a container. */
export function homeFolder({ HOME }: Variables): string {
  try {
    return HOME ?? homedir()
  } catch {
    return '/'
  }
}

/** Where a program of this name keeps the user's settings. */
export function settingsFolder(name: string, env: Variables): string {
  const { APPDATA } = env
  return isWindows() && APPDATA !== undefined ? `${APPDATA}\\${name}` : `${homeFolder(env)}/.config/${name}`
}

/** A command that names the program that listens on a port. */
export function whoListens(port: number): string {
  if (isWindows()) return `netstat -ano | findstr :${port}`
  return process.platform === 'darwin' ? `lsof -nP -iTCP:${port} -sTCP:LISTEN` : `ss -ltnp 'sport = ${port}'`
}

function isWindows(): boolean {
  return process.platform === 'win32'
}
