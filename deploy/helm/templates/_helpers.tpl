{{- define "gateway.name" -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}-gateway
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: model-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Changes with what a running gateway cannot reload, and with nothing else. */}}
{{- define "gateway.restart" -}}
{{- $listen := .Values.config.listen | default dict }}
{{- $tls := $listen.tls | default dict }}
{{- $admin := .Values.config.admin | default dict }}
{{- $own := pick .Values.config "store" "spool" "transport" "workers" }}
{{- $fixed := dict "listen" (pick $listen "host" "port" "backlog") "tls" (hasKey $listen "tls") "clients" (hasKey $tls "client_ca") }}
{{- dict "own" $own "fixed" $fixed "admin" (omit $admin "secret" "metrics" "write" "oidc") | toJson | sha256sum }}
{{- end }}

{{- define "gateway.account" -}}
{{ .Values.serviceAccount.name | default (ternary (include "gateway.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}
