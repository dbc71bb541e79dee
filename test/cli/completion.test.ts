import { spawnSync } from 'node:child_process'
import t from 'tap'
import { skipped } from '../helpers/skipped.js'
import { run } from './bin.js'

function has(shell: string): boolean {
  return spawnSync(shell, ['-c', 'exit 0']).status === 0
}

/** What bash offers for a line whose last word is being typed. */
function offered(script: string, line: readonly string[]): readonly string[] {
  const words = line.map(word => JSON.stringify(word)).join(' ')
  const ask = `COMP_WORDS=(${words}); COMP_CWORD=${line.length - 1}; _gateway; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, status, stderr } = spawnSync('bash', ['-uc', `${script}\n${ask}`], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim().split('\n')
}

t.test('bash completes commands, commands of groups, options and values of options', async t => {
  const { code, stdout: script } = await run(['completion', 'bash'])
  t.equal(code, 0)
  t.strictSame(offered(script, ['gateway', 'val']), ['validate'])
  t.strictSame(offered(script, ['gateway', 'keys', 'ne']), ['new'])
  t.strictSame(offered(script, ['gateway', 'validate', '--str']), ['--strict'])
  t.strictSame(offered(script, ['gateway', 'validate', '--format', '']), ['text', 'json', 'github', 'sarif'])
  t.strictSame(offered(script, ['gateway', 'validate', 'a.yaml', '--format', 's']), ['sarif'])
  t.strictSame(offered(script, ['gateway', 'completion', 'z']), ['zsh'])
  t.strictSame(offered(script, ['gateway', 'validate', 'ga']), [''], 'bash offers files')
})

t.test('zsh reads its script, and completes a command', async t => {
  const { code, stdout: script } = await run(['completion', 'zsh'])
  t.equal(code, 0)
  t.match(script, "'validate:check a configuration")
  if (!has('zsh')) return skipped(t, 'zsh')
  const stubs =
    'compdef() { :; }; _files() { :; }; _describe() { eval "print -rl -- \\$$2"; }; compadd() { print -rl -- "$@"; }'
  const ask = (line: string, current: number): string =>
    spawnSync('zsh', ['-fc', `${stubs}\n${script}\nwords=(${line}); CURRENT=${current}; _gateway`], {
      encoding: 'utf8',
    }).stdout
  t.match(ask("gateway ''", 2), /^validate:check/m)
  t.match(ask('gateway validate --f', 3), /^--format:output format/m)
  t.equal(ask("gateway validate --format ''", 4), '--\ntext\njson\ngithub\nsarif\n')
})

t.test('fish reads its script, and completes a command', async t => {
  const { code, stdout: script } = await run(['completion', 'fish'])
  t.equal(code, 0)
  t.match(script, "-a 'validate' -d 'check a configuration")
  if (!has('fish')) return skipped(t, 'fish')
  const ask = (line: string): string =>
    spawnSync('fish', ['-Nc', `${script}\ncomplete -C '${line}'`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: '/' },
    }).stdout
  t.match(ask('gateway val'), /^validate\t/m)
  t.match(ask('gateway keys '), /^new\t/m)
  t.match(ask('gateway validate --format '), /^sarif/m)
})

t.test('a shell that is not known is refused with those that are', async t => {
  const { code, stderr } = await run(['completion', 'csh'])
  t.equal(code, 2)
  t.match(stderr, 'bash, zsh, fish')
})
