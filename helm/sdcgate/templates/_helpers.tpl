{{- define "sdcgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "sdcgate.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "sdcgate.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "sdcgate.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The services, in the order in which they need each other. */}}
{{- define "sdcgate.services" -}}
risk protection facility gateway
{{- end }}

{{- define "sdcgate.port" -}}
{{- get (dict "gateway" "8080" "facility" "7440" "risk" "7441" "protection" "7442") . }}
{{- end }}

{{- define "sdcgate.metricsPort" -}}
{{- get (dict "gateway" "9480" "facility" "9440" "risk" "9441" "protection" "9442") . }}
{{- end }}

{{/* Labels that select; with a component: (list $ "risk"). */}}
{{- define "sdcgate.selector" -}}
app.kubernetes.io/name: {{ include "sdcgate.name" (first .) }}
app.kubernetes.io/instance: {{ (first .).Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "sdcgate.labels" -}}
{{ include "sdcgate.selector" . }}
app.kubernetes.io/version: {{ (first .).Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sdcgate
app.kubernetes.io/managed-by: {{ (first .).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (first .).Chart.Name (first .).Chart.Version | replace "+" "_" }}
{{- with (first .).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sdcgate.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sdcgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "sdcgate.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Host of a service: (list $ "risk"). */}}
{{- define "sdcgate.host" -}}
{{- $root := first . }}
{{- printf "%s-%s.%s.svc.%s" (include "sdcgate.fullname" $root) (index . 1) $root.Release.Namespace $root.Values.clusterDomain }}
{{- end }}

{{/* Secret with the certificate of a service: (list $ "risk"). */}}
{{- define "sdcgate.tlsSecret" -}}
{{- $root := first . }}
{{- if eq $root.Values.tls.mode "secrets" }}
{{- get $root.Values.tls.secrets (index . 1) }}
{{- else }}
{{- printf "%s-%s-tls" (include "sdcgate.fullname" $root) (index . 1) }}
{{- end }}
{{- end }}

{{- define "sdcgate.tokenSecret" -}}
{{- default (printf "%s-service-token" (include "sdcgate.fullname" .)) .Values.serviceToken.existingSecret }}
{{- end }}

{{- define "sdcgate.stateClaim" -}}
{{- default (printf "%s-state" (include "sdcgate.fullname" .)) .Values.state.existingClaim }}
{{- end }}

{{- define "sdcgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "sdcgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Settings as variables: (list "SDCGATE_RISK__" $settings). */}}
{{- define "sdcgate.variables" -}}
{{- $prefix := first . }}
{{- range $name, $value := index . 1 }}
- {name: {{ $prefix }}{{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end }}
