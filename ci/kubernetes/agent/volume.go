package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authentication "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
)

// podFolder returns the folder of a pod. It stays after the pod.
func (a *agent) podFolder(pod *v1.Pod) string {
	return filepath.Join(a.dir, "pods", pod.Namespace, pod.Name)
}

// mounts makes the folders of a container's volumes, and returns where they belong. A claim is a
// folder that all nodes share.
func (a *agent) mounts(pod *v1.Pod, c *v1.Container) ([]mount, error) {
	folders := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		folder := filepath.Join(a.podFolder(pod), "volumes", v.Name)
		if claim := v.PersistentVolumeClaim; claim != nil {
			_, err := a.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(context.Background(),
				claim.ClaimName, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			folder = filepath.Join(a.dir, "claims", pod.Namespace, claim.ClaimName)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		files, err := a.contents(pod, v)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", v.Name, err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
		folders[v.Name] = folder
	}
	var mounts []mount
	for _, m := range c.VolumeMounts {
		if m.SubPath != "" || m.SubPathExpr != "" {
			return nil, fmt.Errorf("the agent knows no subPath: %s", m.MountPath)
		}
		mounts = append(mounts, mount{folders[m.Name], m.MountPath, m.ReadOnly})
	}
	return mounts, nil
}

// contents returns the files of a volume that is made of other objects.
func (a *agent) contents(pod *v1.Pod, v v1.Volume) (map[string]string, error) {
	switch {
	case v.PersistentVolumeClaim != nil, v.EmptyDir != nil:
		return nil, nil
	case v.ConfigMap != nil:
		return a.configMap(pod.Namespace, v.ConfigMap.Name)
	case v.Secret != nil:
		return a.secret(pod.Namespace, v.Secret.SecretName)
	case v.Projected == nil:
		return nil, fmt.Errorf("the agent does not know this kind of volume")
	}
	all := map[string]string{}
	for _, source := range v.Projected.Sources {
		files, err := a.projection(pod, source)
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			all[name] = text
		}
	}
	return all, nil
}

// projection returns the files of one source of a projected volume, such as the token of the pod's
// service account.
func (a *agent) projection(pod *v1.Pod, source v1.VolumeProjection) (map[string]string, error) {
	switch {
	case source.ServiceAccountToken != nil:
		request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{
			ExpirationSeconds: source.ServiceAccountToken.ExpirationSeconds,
			BoundObjectRef: &authentication.BoundObjectReference{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
			},
		}}
		token, err := a.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(
			context.Background(), pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return map[string]string{source.ServiceAccountToken.Path: token.Status.Token}, nil
	case source.ConfigMap != nil:
		return a.configMap(pod.Namespace, source.ConfigMap.Name)
	case source.DownwardAPI != nil:
		files := map[string]string{}
		for _, item := range source.DownwardAPI.Items {
			text, err := fieldpath.ExtractFieldPathAsString(pod, item.FieldRef.FieldPath)
			if err != nil {
				return nil, err
			}
			files[item.Path] = text
		}
		return files, nil
	}
	return nil, fmt.Errorf("the agent does not know this source of a projected volume")
}

// variables returns what a Secret or a ConfigMap adds to the environment of a container.
func (a *agent) variables(namespace string, from v1.EnvFromSource) (map[string]string, error) {
	if from.SecretRef != nil {
		return a.secret(namespace, from.SecretRef.Name)
	}
	return a.configMap(namespace, from.ConfigMapRef.Name)
}

func (a *agent) configMap(namespace, name string) (map[string]string, error) {
	object, err := a.client.CoreV1().ConfigMaps(namespace).Get(context.Background(), name,
		metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Data, nil
}

func (a *agent) secret(namespace, name string) (map[string]string, error) {
	object, err := a.client.CoreV1().Secrets(namespace).Get(context.Background(), name,
		metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for k, v := range object.Data {
		values[k] = string(v)
	}
	return values, nil
}
