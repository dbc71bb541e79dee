import { expect, includes, jsonLines, SECRET, streamed } from '../stage.mjs'

const SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
}

export const gemini = {
  name: 'Gemini CLI',
  protocol: 'generate',
  source: { npm: '@google/gemini-cli', version: '0.61.0' },
  command: folder => [process.execPath, `${folder}/node_modules/@google/gemini-cli/bundle/gemini.js`],
  configure: ({ origin, key }) => ({
    files: { '.gemini/settings.json': JSON.stringify(SETTINGS, null, 2) },
    environment: { GOOGLE_GEMINI_BASE_URL: origin, GEMINI_API_KEY: key },
  }),
  example: 'gemini -m sim-text -p "Say hello"',
  quiet: { GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_TELEMETRY_ENABLED: 'false' },
  version: ['--version'],
  capabilities: {
    async text({ run }, model) {
      includes(await run(['-m', model, '-p', 'Say hello']), 'You said: "Say hello"')
    },
    async stream({ run }, model) {
      const seen = await run(['-m', model, '-o', 'stream-json', '-p', 'Say hello'])
      streamed(seen)
      expect(jsonLines(seen).filter(({ delta }) => delta === true).length > 1, 'has no deltas', seen)
    },
    async tools({ run, note }, model) {
      const seen = await run(['-m', model, '-p', `Use read_file with file_path=${note}`])
      includes(seen, `The tool answered: "${SECRET}`)
    },
  },
}
