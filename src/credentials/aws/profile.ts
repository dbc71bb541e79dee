import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { homeFolder } from '../../core/platform.js'
import type { Outside } from '../oauth2.js'

/** Settings of one profile, from both shared files. */
export type Profile = Readonly<Record<string, string>>

/** A profile of the shared files (`~/.aws/credentials`, `~/.aws/config`); empty if there is none of that name. */
export async function readProfile(name: string, env: Outside['env']): Promise<Profile> {
  const { AWS_SHARED_CREDENTIALS_FILE: credentials, AWS_CONFIG_FILE: config } = env
  const home = homeFolder(env)
  const [first, second] = await Promise.all([
    read(config ?? join(home, '.aws/config')),
    read(credentials ?? join(home, '.aws/credentials')),
  ])
  return { ...section(first, name === 'default' ? name : `profile ${name}`), ...section(second, name) }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}

function section(text: string, wanted: string): Profile {
  const found: Record<string, string> = {}
  let isWanted = false
  for (const line of text.split(/\r?\n/)) {
    const head = /^\s*\[([^\]]*)\]/.exec(line)
    if (head !== null) {
      isWanted = (head[1] ?? '').trim().replace(/\s+/g, ' ') === wanted
      continue
    }
    const mark = line.indexOf('=')
    if (!isWanted || mark < 0 || /^\s*[#;]/.test(line)) continue
    found[line.slice(0, mark).trim().toLowerCase()] = line.slice(mark + 1).trim()
  }
  return found
}
